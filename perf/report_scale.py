"""Measures the time and the memory of ``milabench report`` for a large run.

    python perf/report_scale.py [RANKS] [STEPS]
    python perf/report_scale.py --lines 1000000 10000000

Makes a synthetic run of RANKS ranks (8,192), 8 on each node, and STEPS steps (1,000). Each node has
a result file; the file of rank 0 has the rates, and at the end each rank's step times with their
parts, shares and memory. Prints the seconds and the peak memory of the report for all ranks and for
a tenth of them.

With ``--lines``, the runs have so many metric lines, half of them rates and half losses, in 64
files or, with ``--files``, in another number of them. Printed are the seconds of CPU of the report,
of all its processes, over those that orjson takes to decode the same lines in one process; the same
of the wall time; and the peak memory of all processes together. The first report reads the files,
the second one the tables that the first has kept.
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import psutil
from paired import MILABENCH, environment

LOCAL = 8  # ranks of a node
CHUNK = 51  # steps in a line of step times and of three parts
SAMPLES = 30  # of the devices of a node


def line(event: str, data: object, pipe: str | None = None) -> str:
    """A line of a result file."""
    return json.dumps({"event": event, "data": data, "pipe": pipe}) + "\n"


def make(folder: Path, ranks: int, steps: int) -> int:
    """Write the run; returns its size in bytes."""
    folder.mkdir()
    nodes = -(-ranks // LOCAL)
    state = {
        "schema": 1, "name": folder.name, "milabench": "", "command": [], "config": "",
        "machine": {}, "created": 0.0, "ended": 900.0, "preset": "full",
        "suite": {"bert-ddp": {"weight": 1.0}}, "skipped": [], "outcome": "ok",
        "benchmarks": [{"name": "bert-ddp", "outcome": "ok", "reason": ""}],
    }  # fmt: skip
    (folder / "run.json").write_text(json.dumps(state))
    draw = random.Random(1)
    for node in range(nodes):
        tag = ["bert-ddp", "0", f"node{node:04d}", *(["nolog"] if node else [])]
        with (folder / f"{'.'.join(tag)}.data").open("w") as out:
            out.writelines(_head(tag, nodes))
            if not node:
                out.writelines(_rates(draw, steps))
                for rank in range(ranks):
                    out.writelines(_rank(draw, rank, steps))
            ended = {"time": 900.0, "return_code": 0, "outcome": "ok", "reason": ""}
            out.write(line("end", ended))
    return sum(path.stat().st_size for path in folder.iterdir())


def _head(tag: list[str], nodes: int) -> list[str]:
    config = {
        "name": "bert-ddp", "tag": tag, "plan": {"method": "njobs", "n": 1}, "weight": 1.0,
        "num_machines": nodes, "devices": list(range(LOCAL)), "arch": "cuda",
    }  # fmt: skip
    told = {
        "memory": [61000.0, 81559.0], "load": 0.98, "temperature": 61.0, "power": 640.0,
        "power_limit": 700.0, "sm_clock": 1755, "memory_clock": 2619, "headroom": 26.0,
        "clock_reasons": ["sw_power_cap"], "pcie": [120.5, 80.25], "nvlink": [9e4, 9e4],
        "pcie_link": [5, 16], "ecc": [0, 0], "remapped": [0, 0, 0, 0], "memory_temperature": 72,
    }  # fmt: skip
    samples = []
    for second in range(SAMPLES):
        time = 610.5 + second
        used = {"time": time, "energy": 1e6 + 640.0 * second, **told}
        payload = {"task": "main", "time": time, "gpudata": {str(k): used for k in range(LOCAL)}}
        samples.append(line("data", payload, "data"))
    return [line("config", config), line("start", {"time": 600.0}), *samples]


def _rates(draw: random.Random, steps: int) -> list[str]:
    rates = (draw.gauss(1e6, 1e4) for _ in range(steps))
    each = SAMPLES / steps
    told = []
    for step, rate in enumerate(rates, 1):
        clock = {"time": 610 + step * each, "elapsed": step * each}
        known = {"task": "train", "rank": 0, "rate": rate, "units": "items/s", "steps": 1, **clock}
        told.append(known)
    model = {"task": "main", "rank": 0, "model": {"mode": "ddp", "tflops_per_gpu": 300.0}}
    return [line("data", one, "data") for one in (*told, model)]


def _rank(draw: random.Random, rank: int, steps: int) -> list[str]:
    forward = draw.gauss(80.0, 0.5)
    shares = {"forward": 0.32, "backward": 0.65, "optimizer": 0.02, "data": 0.01}
    parts = {"forward": [forward, 1.0], "backward": [162.0, 2.0], "optimizer": [5.0, 0.1]}
    payloads = [{"shares": shares, "part_ms": {**parts, "data": [2.5, 0.2]}}]
    for at in range(0, steps, CHUNK):
        count = min(CHUNK, steps - at)
        ms = [round(draw.gauss(250.0, 3.0), 4) for _ in range(count)]
        wait = [round(draw.gauss(2.5, 0.2), 4) for _ in range(count)]
        times = {"rank": rank, "from": at, "ms": ms, "wait_ms": wait}
        of_parts = {}
        for part, (mean, deviation) in parts.items():
            of_parts[part] = [round(draw.gauss(mean, deviation), 4) for _ in range(count)]
        payloads.append({"step_times": {**times, "parts": of_parts}})
    payloads.append({"memory_peak": [60000.0, 61000.0]})
    return [line("data", {"task": "main", "rank": rank, **told}, "data") for told in payloads]


def make_lines(folder: Path, count: int, files: int) -> int:
    """Write a run of so many metric lines; returns its size in bytes."""
    folder.mkdir()
    benchmarks = max(1, files // LOCAL)
    names = [f"b{k:02}" for k in range(benchmarks)]
    state = {
        "schema": 1, "name": folder.name, "milabench": "", "command": [], "config": "",
        "machine": {}, "created": 0.0, "ended": 900.0, "preset": "full", "skipped": [],
        "suite": {name: {"weight": 1.0} for name in names}, "outcome": "ok",
        "benchmarks": [{"name": name, "outcome": "ok", "reason": ""} for name in names],
    }  # fmt: skip
    (folder / "run.json").write_text(json.dumps(state))
    draw = random.Random(1)
    for number in range(files):
        name, device = names[number % benchmarks], number // benchmarks
        config = {
            "name": name, "tag": [name, f"D{device}"], "plan": {"method": "per_gpu"},
            "weight": 1.0, "device": device, "devices": [device], "num_machines": 1, "arch": "cuda",
        }  # fmt: skip
        with (folder / f"{name}.D{device}.data").open("w") as out:
            out.write(line("config", config) + line("start", {"time": 600.0}))
            out.writelines(_lines(draw, count // files))
            end = {"time": 900.0, "return_code": 0, "outcome": "ok", "reason": ""}
            out.write(line("end", end))
    return sum(path.stat().st_size for path in folder.iterdir())


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


DECODE = """
import sys, orjson
for path in sys.argv[1:]:
    with open(path, "rb") as lines:
        for line in lines:
            orjson.loads(line)
"""


def measure_lines(base: Path, count: int, files: int) -> None:
    """Print the report's times over orjson's, and its memory."""
    folder = base / f"lines-{count}"
    size = make_lines(folder, count, files)
    data = [str(path) for path in sorted(folder.glob("*.data"))]
    own = watched([sys.executable, "-c", DECODE, *data])
    print(f"{count:,} lines, {size / 2**20:.0f} MiB: orjson {own.cpu:.1f} s", flush=True)
    for kind in ("first", "second", "--compat"):
        more = [kind] if kind == "--compat" else []
        found = watched([*MILABENCH, "report", str(folder), *more])
        print(
            f"  {kind}: {found.cpu / own.cpu:.2f} times its CPU time ({found.cpu:.1f} s), "
            f"{found.wall / own.wall:.2f} times its wall time, {found.mib:.0f} MiB",
            flush=True,
        )


@dataclass(frozen=True)
class Cost:
    """What a command took, with its children."""

    cpu: float  # seconds
    wall: float
    mib: float  # the most memory of all its processes together


def watched(command: Sequence[str]) -> Cost:
    """The cost of a command, whose output is dropped."""
    start, most = time.perf_counter(), 0
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    child = psutil.Popen(command, stdout=subprocess.DEVNULL, env=environment())
    while child.poll() is None:
        used = 0
        with suppress(psutil.Error):
            for process in (child, *child.children(recursive=True)):
                used += process.memory_info().rss
        most = max(most, used)
        time.sleep(0.02)
    wall = time.perf_counter() - start
    assert child.returncode == 0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(cpu, wall, most / 2**20)


def measure(folder: Path, format: str) -> tuple[float, float]:
    """Seconds and peak MiB of the report of a run."""
    start = time.perf_counter()
    command = [*MILABENCH, "report", str(folder), "--format", format]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment())
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = status
    assert status == 0
    return time.perf_counter() - start, usage.ru_maxrss / 1024


def main() -> None:
    """Print a line for each size and format."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ranks", type=int, nargs="?", default=8192)
    parser.add_argument("steps", type=int, nargs="?", default=1000)
    parser.add_argument("--lines", type=int, nargs="+", default=[])
    parser.add_argument("--files", type=int, default=64)
    args = parser.parse_args()
    ranks, steps = args.ranks, args.steps
    if args.lines and find_spec("orjson") is None:
        parser.exit(2, "--lines compares with orjson: pip install orjson\n")
    with tempfile.TemporaryDirectory() as base:
        for count in args.lines:
            measure_lines(Path(base), count, args.files)
        if args.lines:
            return
        for part in (10, 1):
            count = max(LOCAL, ranks // part // LOCAL * LOCAL)
            folder = Path(base) / f"ranks-{count}"
            size = make(folder, count, steps)
            for format in ("text", "json"):
                seconds, peak = measure(folder, format)
                print(
                    f"{count} ranks x {steps} steps, {size / 2**20:.0f} MiB, {format}: "
                    f"{seconds:.1f} s, {peak:.0f} MiB"
                )


if __name__ == "__main__":
    main()
