"""Traces of what had a finding: a few more steps under torch's profiler.

They are a run of their own in the folder of the run, so none of their numbers is one of its own. A
program is given its option ``--profile``, which those of ``benchmarks/common/training.py`` have.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from glob import escape
from pathlib import Path

from msgspec.structs import replace

from ..config.schema import Benchmark
from ..dispatch.run_context import RunContext, begin_traces
from ..dispatch.runners import runner_of
from ..display import show_progress
from ..display.run_progress import Outline
from ..errors import shown_names
from ..events import Status
from ..files import read_bytes
from ..report.assemble import report_of
from ..report.findings import FINDERS
from ..results.read_state import read_benchmark
from ..results.run_dir import RunDir

STEPS = ("--steps", "3", "--seconds", "0.001", "--profile")
"""After its own options a program gets these: so few measured steps, then those of the trace."""
UNKNOWN = b"unrecognized arguments: "  # argparse's words


def traced(benchmark: Benchmark) -> Benchmark:
    kept = [word for word in benchmark.argv if word != "--check-correctness"]
    return replace(benchmark, argv=(*kept, *STEPS))


def chosen(run: RunDir, benchmarks: Sequence[Benchmark], when: str) -> list[Benchmark]:
    """The benchmarks to trace: all, or those with a finding that a trace may explain."""
    if when == "always":
        return list(benchmarks)
    findings = report_of([run.path]).findings
    names = {found.benchmark for found in findings if FINDERS[found.name].is_traced}
    return [benchmark for benchmark in benchmarks if benchmark.name in names]


def make_traces(context: RunContext, when: str, *, quiet: bool) -> Iterator[str]:
    """Run what is to be traced, in ``<run>/traces``; yields a sentence on each.

    Args:
        when: ``always`` or ``on-finding``.
    """
    found = chosen(context.run, context.plan.benchmarks, when)
    for benchmark in found:
        if benchmark.voir is not None:
            yield f"{benchmark.name}: no trace: voir measures it, and its program has no --profile"
    able = tuple(traced(benchmark) for benchmark in found if benchmark.voir is None)
    if not able:
        return
    with closing(begin_traces(context, able)) as inner:
        shown = Outline([benchmark.name for benchmark in able])
        with show_progress(shown, quiet=quiet) as observer:
            runner_of(inner.plan.runner).execute((inner, observer))
        for benchmark in able:
            yield f"{benchmark.name}: {_told(inner.run, benchmark.name)}"


def _told(run: RunDir, name: str) -> str:
    if files := run.traces_of(name):
        return f"profile: {shown_names([str(file) for file in files], 1)}"
    if any(map(_refuses, run.path.glob(f"{escape(name)}.*.stderr"))):
        return "no trace: its program has no option --profile"
    state = read_benchmark(run, name)
    reason = state.reason if state and state.status is not Status.OK else ""
    return f"no trace: {reason or 'its program wrote none'} (see {run.path}/{name}.*)"


def _refuses(stderr: Path) -> bool:
    with suppress(OSError):
        return UNKNOWN in read_bytes(stderr)
    return False
