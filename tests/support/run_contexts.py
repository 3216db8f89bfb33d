"""A run that is about to begin, of small programs on this machine."""

import sys
from pathlib import Path
from typing import Any

from milabench_ddp.codec import write_record
from milabench_ddp.config.schema import Benchmark
from milabench_ddp.dispatch.run_context import RunContext
from milabench_ddp.plan.command_line import Site
from milabench_ddp.results.run_dir import RunDir
from tests.support.dispatch import plan
from tests.support.launches import SITE, benchmark
from tests.support.run_headers import header

MACHINE: dict[str, Any] = {  # the provenance that a run needs
    "command": ["milabench", "run"],
    "date": "2026-11-21T22:00:00+00:00",
    "milabench": {"tag": None, "commit": None, "date": None},
    "host": {"cpu": {"count": 2, "brand": "Xeon"}, "os": {}},
    "accelerators": {"arch": "cpu", "gpus": {}},
    "pytorch": {},
    "python": "CPython 3.11.7",
    "packages": {},
    "environment": {},
}


def program(folder: Path, name: str, text: str, **changes: Any) -> Benchmark:
    """A benchmark that is a small program."""
    path = folder / f"{name}.py"
    path.write_text(text)
    return benchmark(name, program=path, **changes)


def context(folder: Path, *benchmarks: Benchmark, nodes: int = 1, **changes: Any) -> RunContext:
    """A run of these benchmarks in ``folder``, with its files as ``create_run`` writes them."""
    site = Site(sys.executable, {}, SITE.voir_shim)
    run = RunDir(folder)
    names = [each.name for each in benchmarks]
    made = plan(*benchmarks, nodes=nodes, **{"site": site, **changes})
    found = RunContext(run, header(*names), made, benchmarks)
    found.header.machine = MACHINE
    found.save()
    write_record(run.plan_json, made)
    return found
