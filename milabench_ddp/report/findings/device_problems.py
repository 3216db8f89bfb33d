"""Findings about the devices of runs: those that failed, that lack sensors, or were left out."""

import time
from collections import defaultdict
from collections.abc import Callable, Sequence

from ...errors import shown_names
from ...results.records import Record, Run
from ...samples import DeviceProblem
from ..finding import Finding, Findings
from .finder import Measurements

_SHOWN = 3  # benchmarks that a sentence names


def lost_devices(measured: Measurements) -> Findings:
    """Devices that did not answer."""
    yield from _problems(measured.runs, lambda problem: problem.is_fault and problem.is_lost, _from)


def device_faults(measured: Measurements) -> Findings:
    """Devices of which the driver reported an error, and drivers that failed as a whole."""

    def is_fault(problem: DeviceProblem) -> bool:
        return problem.is_fault and not problem.is_lost

    yield from _problems(measured.runs, is_fault, _from)


def device_notes(measured: Measurements) -> Findings:
    """Devices that lack sensors, those that were left out, and mistakes of programs."""
    left_out: dict[str, None] = {}
    for run in measured.runs:
        for record in run.records:
            notes = record.accelerators.get("notes")
            for note in notes if isinstance(notes, list) else ():
                left_out[_on_node(record, str(note))] = None
    for sentence in left_out:
        yield Finding(sentence)
    yield from _problems(measured.runs, lambda problem: not problem.is_fault)


def _from(problem: DeviceProblem) -> str:
    return time.strftime("from %H:%M:%S UTC on %Y-%m-%d, ", time.gmtime(problem.time))


def _problems(
    runs: Sequence[Run],
    is_meant: Callable[[DeviceProblem], bool],
    when: Callable[[DeviceProblem], str] = lambda _: "",
) -> Findings:
    first: dict[str, DeviceProblem] = {}
    names: dict[str, list[str]] = defaultdict(list)
    for run in runs:
        for record in run.records:
            for problem in record.device_problems:
                sentence = _on_node(record, problem.sentence)
                if not is_meant(problem):
                    continue
                known = first.setdefault(sentence, problem)
                first[sentence] = min(known, problem, key=lambda each: each.time)
                if record.name not in names[sentence]:
                    names[sentence].append(record.name)
    for sentence, problem in first.items():
        concerned = names[sentence]
        shown = shown_names(concerned, _SHOWN)
        evidence = {
            "device": problem.device,
            "uuid": problem.uuid,
            "time": problem.time,
            "benchmarks": concerned,
        }
        yield Finding(
            f"{sentence} ({when(problem)}in {shown})", place=problem.uuid, evidence=evidence
        )


def _on_node(record: Record, sentence: str) -> str:
    return f"{record.node}: {sentence}" if record.node else sentence
