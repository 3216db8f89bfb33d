"""Measures how fast the harness itself is: one table of ratios and differences within this run.

    python -m perf              all of it, in under 20 minutes
    python -m perf --quick      in about 2 minutes
    python -m perf --only startup,lines
    python -m perf --json perf.json

Every figure has a floor, which is what the machine takes, or does, without the harness: it is
measured in turn with the figure. Needs a quiet machine: the last line says whether it was one.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from milabench_ddp.fitted import fitted_lines

from .figure import Figure
from .measures import (
    around_program,
    coordinator,
    ends,
    launch_skew,
    lines,
    node_scale,
    plan_scale,
    report_lines,
    startup,
    step_cost,
)
from .paired import FailedRunError
from .room import Effort, Room
from .table import json_text, table

MEASURES: Mapping[str, Callable[[Room], Iterator[Figure]]] = {
    "startup": startup.measure,
    "trivial": around_program.trivial,
    "idle": around_program.idle,
    "skew": launch_skew.measure,
    "metrics": lines.metrics,
    "stdout": lines.stdout,
    "deadline": ends.deadline,
    "reaping": ends.reaping,
    "step": step_cost.measure,
    "benchmarks": plan_scale.benchmarks,
    "gpus": plan_scale.gpus,
    "report": report_lines.measure,
    "heartbeats": coordinator.heartbeats,
    "nodes": coordinator.benchmark_run,
    "scale-lines": node_scale.lines,
    "scale-suite": node_scale.suites,
}
"""What is measured, in this order; a new measurement is a file and a line here."""


def measure(name: str, effort: Effort) -> list[Figure]:
    """The figures of a measurement; says on standard error what is being measured."""
    begin = time.monotonic()
    print(f"{name} ...", end=" ", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(prefix="perf-") as folder:
        figures = list(MEASURES[name](Room(Path(folder), effort)))
    print(f"{time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
    return figures


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; 1 if a figure misses its goal, 2 if one could not be measured."""
    parser = argparse.ArgumentParser(
        prog="python -m perf",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="fewer rounds and smaller sizes")
    parser.add_argument(
        "--only", metavar="NAME[,NAME...]", help=f"only these of {', '.join(MEASURES)}"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON, too")
    options = parser.parse_args(argv)
    names = options.only.split(",") if options.only else list(MEASURES)
    if unknown := [name for name in names if name not in MEASURES]:
        parser.error(f"--only: no {', '.join(unknown)}; there are {', '.join(MEASURES)}")
    effort = Effort.QUICK if options.quick else Effort.WHOLE
    begin, busy = time.monotonic(), _others()
    figures, failed = [], []
    for name in names:
        try:
            figures += measure(name, effort)
        except (FailedRunError, OSError, subprocess.SubprocessError) as error:
            print(f"failed: {error}", file=sys.stderr)
            failed.append(name)
    took = time.monotonic() - begin
    others = (_others() - busy) / took / (os.cpu_count() or 1)
    print(*fitted_lines(table(figures), sys.maxsize, ruled=True), sep="\n")
    print(f"{took:.0f} s; other processes took {max(others, 0):.1%} of the cores meanwhile")
    if options.json:
        options.json.write_text(json_text(figures, effort.value, others))
    if failed:
        print(f"not measured: {', '.join(failed)}")
        return 2
    return int(any(figure.misses for figure in figures))


def _others() -> float:
    """The CPU seconds of all other processes of this machine since it began."""
    words = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    user, nice, system = map(int, words[1:4])
    own = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        used = resource.getrusage(who)
        own += used.ru_utime + used.ru_stime
    return (user + nice + system) / os.sysconf("SC_CLK_TCK") - own


if __name__ == "__main__":
    sys.exit(main())
