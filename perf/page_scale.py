"""Measures the HTML page of a large run: its size, the time to write it, the time until it answers.

    python perf/page_scale.py [BENCHMARKS] [RANKS] [STEPS]

Makes a synthetic run of BENCHMARKS jobs (200) of RANKS ranks (64) and STEPS steps (200), on GPUs
that are sampled once a second, with a slow rank in each tenth; reads it; writes its page. Prints
the seconds of each, and the size of the page. With ``--keep FILE`` the page stays there;
``pytest -m browser`` opens pages.
"""

import argparse
import json
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.page.page import report_html

DEVICES = 8  # of a node, that are sampled
OWN = {"data": 2.5, "forward": 80.0, "backward": 162.0, "optimizer": 5.0}  # ms
COMMUNICATION = 12.0  # ms, and until the slowest rank has done its own work


def line(event: str, data: object) -> str:
    """A line of a result file."""
    pipe = "data" if event == "data" else None
    return json.dumps({"event": event, "data": data, "pipe": pipe}) + "\n"


def make(folder: Path, benchmarks: int, ranks: int, steps: int) -> Path:
    """Write the run."""
    folder.mkdir(parents=True)
    names = [f"gpt-{number:03d}" for number in range(benchmarks)]
    suite = {name: {"weight": 1.0} for name in names}
    state = {
        "schema": 1, "name": folder.name, "milabench": "", "command": [], "config": "",
        "machine": {}, "created": 0.0, "ended": 900.0, "preset": "full", "suite": suite,
        "skipped": [], "outcome": "ok",
        "benchmarks": [{"name": name, "outcome": "ok", "reason": ""} for name in names],
    }  # fmt: skip
    (folder / "run.json").write_text(json.dumps(state))
    for number, name in enumerate(names):
        draw = random.Random(number)
        slow = ranks // 2 if number % 10 == 0 else -1
        (folder / f"{name}.0.data").write_text("".join(_file(draw, name, ranks, steps, slow)))
    return folder


def _file(draw: random.Random, name: str, ranks: int, steps: int, slow: int) -> list[str]:
    """The lines of a job's file; the rank ``slow`` is 8 % slower in its forward pass."""
    config = {
        "name": name, "tag": [name, "0"], "plan": {"method": "njobs", "n": 1}, "weight": 1.0,
        "num_machines": 1, "devices": list(range(ranks)), "arch": "cuda", "enabled": True,
    }  # fmt: skip
    lines = [line("config", config), line("start", {"time": 600.0})]
    seconds = (sum(OWN.values()) + COMMUNICATION) / 1e3
    told: list[object] = []
    for step in range(-10, steps):
        told.append({
            "task": "train", "rank": 0, "rate": draw.gauss(1e6, 1e4), "units": "tokens/s",
            "steps": 1, "warmup": step < 0, "time": 610 + step * seconds,
            "elapsed": (step + 11) * seconds,
        })  # fmt: skip
    told.append({"task": "main", "rank": 0, "model": {"mode": "ddp", "tflops_per_gpu": 300.0}})
    for second in range(round(steps * seconds)):
        devices = {str(index): _sample(draw, 607.0 + second) for index in range(DEVICES)}
        told.append({"task": "main", "time": 607.0 + second, "gpudata": devices})
    told += _ranks(draw, ranks, steps, slow)
    end = {"time": 700.0, "return_code": 0, "outcome": "ok", "reason": ""}
    return [*lines, *(line("data", each) for each in told), line("end", end)]


def _sample(draw: random.Random, at: float) -> dict[str, object]:
    return {
        "time": at, "memory": [draw.gauss(61000.0, 200.0), 81559.0], "load": 0.98,
        "temperature": round(draw.gauss(61, 2)), "power": round(draw.gauss(640.0, 20.0), 1),
        "power_limit": 700.0, "sm_clock": round(draw.gauss(1755, 20)), "memory_clock": 2619,
    }  # fmt: skip


def _ranks(draw: random.Random, ranks: int, steps: int, slow: int) -> Iterator[object]:
    """The steps of the ranks, which wait for the slowest one in each."""
    own = []
    for rank in range(ranks):
        parts = {}
        for part, mean in OWN.items():
            mean *= 1.2 if rank == slow and part == "forward" else 1.0
            parts[part] = [draw.gauss(mean, mean / 100) for _ in range(steps)]
        own.append(parts)
    works = [[sum(step) for step in zip(*parts.values(), strict=True)] for parts in own]
    whole = [max(step) + COMMUNICATION for step in zip(*works, strict=True)]
    for rank, (parts, work) in enumerate(zip(own, works, strict=True)):
        exposed = [ms - busy for ms, busy in zip(whole, work, strict=True)]
        times = {name: [round(ms, 4) for ms in found] for name, found in parts.items()}
        wait = times.pop("data")
        times["exposed_communication"] = [round(ms, 4) for ms in exposed]
        ms = [round(sum(step), 4) for step in zip(wait, *times.values(), strict=True)]
        steps_of = {"rank": rank, "from": 0, "ms": ms, "wait_ms": wait, "parts": times}
        memory = [draw.gauss(60000.0, 100.0), draw.gauss(61000.0, 100.0)]
        yield {"task": "main", "rank": rank, "step_times": steps_of}
        yield {"task": "main", "rank": rank, "memory_peak": memory}


def main() -> None:
    """Print the seconds and the size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (("benchmarks", 200), ("ranks", 64), ("steps", 200)):
        parser.add_argument(name, type=int, nargs="?", default=default)
    parser.add_argument("--keep", type=Path, help="write the page to this file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "large"
        make(folder, options.benchmarks, options.ranks, options.steps)
        begin = time.perf_counter(), time.process_time()
        report = report_of([folder])
        read = time.perf_counter(), time.process_time()
        page = report_html(report).encode()
        written = time.perf_counter(), time.process_time()
    print(f"{options.benchmarks} x {options.ranks} ranks x {options.steps} steps")
    for what, since, until in (("reads the run", begin, read), ("makes the page", read, written)):
        wall, busy = (end - start for start, end in zip(since, until, strict=True))
        print(f"{what:18} {wall:6.1f} s, {busy:.1f} s of a core")
    print(f"size               {len(page) / 1e6:6.2f} MB")
    if options.keep:
        options.keep.write_bytes(page)


if __name__ == "__main__":
    main()
