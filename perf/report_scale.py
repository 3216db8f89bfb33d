"""Measures the time and the memory of ``milabench report`` for a large run.

    python perf/report_scale.py [RANKS] [STEPS]

Makes a synthetic run of RANKS ranks (8,192), 8 on each node, and STEPS steps (1,000). Each node has
a result file; the file of rank 0 has the rates, and at the end each rank's step times with their
parts, shares and memory. Prints the seconds and the peak memory of the report for all ranks and for
a tenth of them. ``python -m perf --only report`` measures runs of
many lines.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from perf.paired import MILABENCH, environment

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
    args = parser.parse_args()
    ranks, steps = args.ranks, args.steps
    with tempfile.TemporaryDirectory() as base:
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
