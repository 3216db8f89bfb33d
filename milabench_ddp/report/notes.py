"""What a reader of the table must know: what was left out, what is wrong, what stands out."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import isnan
from typing import Any

from ..events import Outcome
from ..results.records import Record, Run, is_finite
from .measure import Process
from .member import Member
from .outcomes import RUNNING
from .runinfo import describe
from .stragglers import slow_device, slow_ranks


def notes(
    named: Mapping[str, Sequence[Process]], members: Mapping[str, Sequence[Member]]
) -> Iterator[str]:
    """What was left out of the numbers, and which device is slow, by benchmark."""
    for name in sorted(named):
        processes = named[name]
        detected = sum(process.steady.start for process in processes)
        if detected:
            measured = sum(len(process.measured) for process in processes)
            of = f" of {len(processes)} processes" if len(processes) > 1 else ""
            yield f"{name}: {detected} of {measured} observations{of} left out: before steady state"
        records = [process.record for process in processes]
        if _told_memory(records) and not any(r.samples for r in records):
            yield f"{name}: peak_memory is what the program reserved; the device was not sampled"
        yield from slow_device(name, processes)
        if all(record.config.get("device") is None for record in records):
            yield from slow_ranks(name, members[name])
        yield from _checked(name, processes)


def _told_memory(records: Sequence[Record]) -> bool:
    return any(not isnan(rank.reserved) for record in records for rank in record.ranks.values())


def _checked(name: str, processes: Sequence[Process]) -> Iterator[str]:
    """What `--check-correctness` came to, each verdict once."""
    verdicts = [process.record.facts.get("correctness") for process in processes]
    told = Counter(_verdict(verdict) for verdict in verdicts if verdict is not None)
    for text, count in told.items():
        yield f"{name}: {text}{f' ({count} processes)' if count > 1 else ''}"


def _verdict(verdict: Mapping[str, Any]) -> str:
    right = verdict.get("ok") is True
    error, allowed = verdict.get("gradient_error"), verdict.get("tolerance")
    how = f" by {error:.2g}" if is_finite(error) else ""
    return (
        f"{'' if right else 'WRONG: '}its gradients differ{how} (relative, at most {allowed}) from "
        f"those of {verdict.get('reference', 'the reference')}"
        + (f" in {precision}" if isinstance(precision := verdict.get("precision"), str) else "")
        + ("" if right else ": it does not train as it should, and its speed means nothing")
    )


def warnings_of(runs: Sequence[Run], named: Mapping[str, Sequence[Process]]) -> Iterator[str]:
    """What is wrong with the files, and with what was measured."""
    for run in runs:
        yield from map(str, run.defects)
    infos = [describe(run) for run in runs]
    for what in ("preset", "devices"):
        values = {str(value) for info in infos if (value := getattr(info, what))}
        if len(values) > 1:
            yield f"runs with different {what} are pooled: {', '.join(sorted(values))}"
    for name in sorted(named):
        yield from _of_benchmark(name, named[name])


def _of_benchmark(name: str, processes: Sequence[Process]) -> Iterator[str]:
    units = {process.record.units for process in processes if process.record.units}
    if len(units) > 1:
        yield f"{name}: its rates have several units, and are pooled: {', '.join(sorted(units))}"
    nodes = {str(process.record.config.get("num_machines", 1)) for process in processes}
    if len(nodes) > 1:
        counts = ", ".join(sorted(nodes))
        yield f"{name}: runs on different numbers of nodes are pooled: {counts}"
    for process in processes:
        if not process.record.reports:
            continue
        if process.series is None and process.ending.outcome in (Outcome.OK, RUNNING):
            marked = any(o.warmup for o in process.record.rates)
            what = "only warm-up was measured" if marked else "no training rate was measured"
            yet = " yet" if process.ending.outcome == RUNNING else ""
            yield f"{name}: {process.record.tag}: {what}{yet}"
    unsteady = [process for process in processes if process.steady.problem]
    if unsteady:
        first = unsteady[0]
        of = f" (in {len(unsteady)} of {len(processes)} processes)" if len(processes) > 1 else ""
        yield f"{name}: {first.record.tag}: {first.steady.problem}{of}"
