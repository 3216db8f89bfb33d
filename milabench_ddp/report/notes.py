"""What a reader of the table must know: what was left out, what is wrong, what stands out."""

import statistics
from collections.abc import Iterator, Mapping, Sequence

from ..events import Outcome
from ..results.records import Run, is_finite
from .interval import interval
from .measure import Process
from .outcomes import RUNNING
from .runinfo import describe

SLOW = 0.03  # a device that is slower than its peers by less is not worth a word
SURE = 4.0  # standard errors


def notes(named: Mapping[str, Sequence[Process]]) -> Iterator[str]:
    """What was left out of the numbers, and which device is slow, by benchmark."""
    for name in sorted(named):
        processes = named[name]
        detected = sum(process.steady.start for process in processes)
        if detected:
            measured = sum(len(process.measured) for process in processes)
            of = f" of {len(processes)} processes" if len(processes) > 1 else ""
            yield f"{name}: {detected} of {measured} observations{of} left out: before steady state"
        records = [process.record for process in processes]
        if any(r.memory_peaks for r in records) and not any(r.samples for r in records):
            yield f"{name}: peak_memory is what the program reserved; the device was not sampled"
        yield from _slow_device(name, processes)
        yield from _checked(name, processes)


def _checked(name: str, processes: Sequence[Process]) -> Iterator[str]:
    """What `--check-correctness` came to."""
    for process in processes:
        verdict = process.record.facts.get("correctness")
        if verdict is None:
            continue
        right = verdict.get("ok") is True
        error, allowed = verdict.get("gradient_error"), verdict.get("tolerance")
        how = f" by {error:.2g}" if is_finite(error) else ""
        yield (
            f"{name}: {'' if right else 'WRONG: '}its gradients differ{how} (relative, at most "
            f"{allowed}) from those of {verdict.get('reference', 'the reference')}"
            + ("" if right else ": it does not train as it should, and its speed means nothing")
        )


def _slow_device(name: str, processes: Sequence[Process]) -> Iterator[str]:
    """The slowest of three devices and more, where it is really slower than the others."""
    devices: dict[str, list[Process]] = {}
    for process in processes:
        device = process.record.config.get("device")
        if device is not None and process.series is not None:
            devices.setdefault(str(device), []).append(process)
    if len(devices) < 3:
        return
    rates = {
        device: statistics.fmean(p.series.mean for p in group if p.series)
        for device, group in devices.items()
    }
    slowest = min(rates, key=lambda device: (rates[device], device))
    peers = statistics.median(rate for device, rate in rates.items() if device != slowest)
    gap = peers - rates[slowest]
    if gap <= SLOW * peers:
        return
    sure = interval([[p.series] for p in devices[slowest] if p.series])
    if sure is None or gap > SURE * sure.sem:
        unit = next((p.record.units for p in processes if p.record.units), "")
        yield (
            f"{name}: device {slowest} is {gap / peers:.1%} slower than the median of the others "
            f"({rates[slowest]:.5g} against {peers:.5g} {unit})".replace(" )", ")")
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
    for process in processes:
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
