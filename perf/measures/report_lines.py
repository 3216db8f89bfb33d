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
    """The CPU time of the report of a run, and its memory."""
    sizes = room.pick([640], [10_000, 100_000, 1_000_000], [10_000, 100_000, 1_000_000, 10_000_000])
    figures: list[list[Figure]] = [[], []]
    for size in sizes:
        folder = room.folder / f"lines-{size}"
        make(folder, size)
        rounds = 1 if size > 1_000_000 else room.pick(1, 3, 5)
        for found, figure in zip(figures, _of_run(folder, rounds, f"{size:,}"), strict=True):
            found.append(figure)
        shutil.rmtree(folder)
    for found in figures:
        yield from with_growth(found, sizes)


def _of_run(folder: Path, rounds: int, size: str) -> tuple[Figure, Figure]:
    reports: list[Cost] = []
    decoders: list[Cost] = []

    def report() -> float:
        reports.append(watched([*MILABENCH, "report", str(folder)]))
        return reports[-1].cpu

    def decode() -> float:
        decoders.append(watched(python("bare_decoder.py", folder)))
        return decoders[-1].cpu

    report()  # fills the cache of the disk
    reports.clear()
    in_turn(rounds, {"decoder": decode, "report": report}, warm=False)
    floor_name = "msgspec decodes each line once"
    return (
        Figure(
            f"report of {size} lines, CPU",
            "s",
            tuple(cost.cpu for cost in reports),
            tuple(cost.cpu for cost in decoders),
            floor_name,
        ),
        Figure(
            f"report of {size} lines: memory",
            "MiB",
            tuple(cost.mib for cost in reports),
            tuple(cost.mib for cost in decoders),
            floor_name,
            relation="difference",
        ),
    )


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
