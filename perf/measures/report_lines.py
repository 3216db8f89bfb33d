"""How long a report of many lines takes, over decoding each of them once."""

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

from ..cost import Cost, watched
from ..figure import Figure, with_growth
from ..paired import MILABENCH, in_turn
from ..room import Room
from ..suites import python

FILES = 64
LOCAL = 8  # files of a benchmark


def measure(room: Room) -> Iterator[Figure]:
    """The CPU time of the first report of a run and of the second, and the memory of the first."""
    sizes = room.pick([640], [10_000, 100_000, 1_000_000], [10_000, 100_000, 1_000_000, 10_000_000])
    figures: dict[str, list[Figure]] = {"first report": [], "report again": [], "memory": []}
    for size in sizes:
        folder = room.folder / f"lines-{size}"
        make(folder, size)
        rounds = room.pick(1, 3, 5)
        for name, found in _of_run(folder, 1 if size > 1_000_000 else rounds, f"{size:,}").items():
            figures[name].append(found)
        shutil.rmtree(folder)
    for found in figures.values():
        yield from with_growth(found, sizes)


def _of_run(folder: Path, rounds: int, size: str) -> dict[str, Figure]:
    costs: dict[str, list[Cost]] = {"first report": [], "report again": [], "decoder": []}

    def first() -> float:
        for kept in set(folder.iterdir()) - originals:
            shutil.rmtree(kept) if kept.is_dir() else kept.unlink()
        return again("first report")

    def again(name: str = "report again") -> float:
        costs[name].append(watched([*MILABENCH, "report", str(folder)]))
        return costs[name][-1].cpu

    def decode() -> float:
        costs["decoder"].append(watched(python("bare_decoder.py", folder)))
        return costs["decoder"][-1].cpu

    originals = set(folder.iterdir())
    first()  # fills the cache of the disk
    for each in costs.values():
        each.clear()
    in_turn(rounds, {"decoder": decode, "first": first, "again": again}, warm=False)
    floor = tuple(cost.cpu for cost in costs["decoder"])
    floor_name = "msgspec decodes each line once"
    figures = {}
    for name in ("first report", "report again"):
        taken = tuple(cost.cpu for cost in costs[name])
        figures[name] = Figure(f"{name} of {size} lines, CPU", "s", taken, floor, floor_name)
    figures["memory"] = Figure(
        f"first report of {size} lines: memory",
        "MiB",
        tuple(cost.mib for cost in costs["first report"]),
        tuple(cost.mib for cost in costs["decoder"]),
        floor_name,
        relation="difference",
    )
    return figures


def make(folder: Path, count: int) -> None:
    """Write a run of so many metric lines: half of them rates with their clocks, half losses."""
    folder.mkdir()
    benchmarks = FILES // LOCAL
    names = [f"b{k:02}" for k in range(benchmarks)]
    state = {
        "schema": 1, "name": folder.name, "milabench": "", "command": [], "config": "",
        "machine": {}, "created": 0.0, "ended": 900.0, "preset": "full", "skipped": [],
        "suite": {name: {"weight": 1.0} for name in names}, "outcome": "ok",
        "benchmarks": [{"name": name, "outcome": "ok", "reason": ""} for name in names],
    }  # fmt: skip
    (folder / "run.json").write_text(json.dumps(state))
    draw = random.Random(1)
    for number in range(FILES):
        name, device = names[number % benchmarks], number // benchmarks
        config = {
            "name": name, "tag": [name, f"D{device}"], "plan": {"method": "per_gpu"},
            "weight": 1.0, "device": device, "devices": [device], "num_machines": 1, "arch": "cuda",
        }  # fmt: skip
        with (folder / f"{name}.D{device}.data").open("w") as out:
            out.write(_line("config", config) + _line("start", {"time": 600.0}))
            out.writelines(_lines(draw, count // FILES))
            end = {"time": 900.0, "return_code": 0, "outcome": "ok", "reason": ""}
            out.write(_line("end", end))


def _lines(draw: random.Random, count: int) -> Iterator[str]:
    """A rate and a loss for each step, as our own programs and milabench's write them."""
    now, head = 610.0, '{"event": "data", "data": {"task": "train", "rank": 0, '
    for step in range(count // 2):
        rate = draw.gauss(1e6, 1e4)
        now += 1e5 / rate
        yield (
            f'{head}"rate": {rate!r}, "units": "items/s", "time": {now:.6f}, '
            f'"elapsed": {now - 610:.6f}, "step": {step}, "steps": 1, '
            f'"arrived": {now + 2e-4:.6f}}}, "pipe": "data"}}\n'
        )
        yield f'{head}"step": {step}, "loss": {2.5 + draw.random()!r}}}, "pipe": "data"}}\n'


def _line(event: str, data: object, pipe: str | None = None) -> str:
    return json.dumps({"event": event, "data": data, "pipe": pipe}) + "\n"
