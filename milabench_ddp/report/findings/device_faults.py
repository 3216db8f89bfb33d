"""Findings about the devices of runs: faults, memory errors, links, power caps, sensors."""

import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from itertools import chain
from operator import attrgetter

from msgspec import Struct
from msgspec.structs import replace

from ...config.xids import ACTIONS, severity_of
from ...errors import count_text, shown_names
from ...grouping import grouped
from ...results.records import Payload, Record, is_finite, mapping_or_empty
from ...samples import DeviceProblem, DeviceSample
from ..monitored import label_of, own_samples
from ..once import once
from .finder import Finds, Found, Looked, Measurements, finding

LOWERED = 0.01  # of the default power cap
MOST_LANES = 64  # more are damage
CORRECTED, UNCORRECTED = 0, 1  # of the counts of ECC
PENDING, FAILED = 2, 3  # of the counts of remapped rows
SHOWN = 3  # benchmarks that a sentence names
SINCE_LOADED = " since its driver was loaded"
_LOST_BEFORE = "is left out: it has fallen off the bus"  # in a note on a device


def _devices_watched(measured: Measurements) -> Looked:
    watched = {(each.node, index) for each in measured.records for index in each.samples}
    return len(watched) or ("no device was read" if measured.records else 0)


@finding(
    "error",
    "{problem}",
    "see the kernel's log (dmesg) for its Xid",
    looks_for="lost or faulty devices",
    among=_devices_watched,
    fails=True,
    action="reboot",
)
def lost_device(measured: Measurements) -> Finds:
    """Devices that did not answer, also those that a validation could not measure for that."""
    yield from _problems(measured, lambda problem: problem.is_fault and problem.is_lost)
    validated = {row.name for row in measured.rows if row.validates}
    records = [record for record in measured.records if record.name in validated]
    notes = [(note, record.node) for record in records for note in _notes(record)]
    for note, node in dict.fromkeys(notes):
        if _LOST_BEFORE in note:
            yield Found(words={"problem": note}, nodes=(node,))


@finding(
    "error",
    "{problem}",
    "see what NVIDIA's documentation says of the Xid",
    looks_for="lost or faulty devices",
    fails=True,
)
def device_fault(measured: Measurements) -> Finds:
    """Devices of which the driver reported an error, and drivers that failed as a whole."""
    return _problems(measured, lambda problem: problem.is_fault and not problem.is_lost)


@finding("warning", "{problem}", "watch whether it comes again")
def device_warning(measured: Measurements) -> Finds:
    """Devices of which the driver reported what may be no fault, or be gone."""
    return _problems(measured, lambda problem: severity_of(problem) == "warning")


class _Device(Struct):
    """A device in a run."""

    node: str
    label: str
    product: str
    link: Payload  # the most that its driver tells of its PCIe link
    samples: list[tuple[str, DeviceSample]] = []  # with the benchmark of each

    @property
    def uncorrected(self) -> list[int]:
        return [each.ecc[UNCORRECTED] for _, each in self.samples if each.ecc is not None]

    def risen(self, which: int) -> dict[str, int]:
        ordered = sorted(self.samples, key=lambda each: (each[0], each[1].time or 0.0))
        counts = grouped((name, each.ecc[which]) for name, each in ordered if each.ecc is not None)
        rises = {name: known[-1] - known[0] for name, known in counts.items()}
        return {name: rise for name, rise in rises.items() if rise > 0}

    def has_remapped(self, which: int) -> bool:
        return any(each.remapped[which] for _, each in self.samples if each.remapped is not None)


@once
def _devices(measured: Measurements) -> list[_Device]:
    found: dict[tuple[object, ...], _Device] = {}
    for number, run in enumerate(measured.runs):
        for record in run.records:
            for index, samples in own_samples(record):
                gpu = record.gpu(index)
                uuid = f" ({gpu['uuid']})" if gpu.get("uuid") else ""
                label, product = _on_node(record, f"GPU {index}{uuid}"), gpu.get("product")
                link = mapping_or_empty(gpu.get("pcie"))
                made = _Device(record.node, label, str(product or ""), link)
                device = found.setdefault((number, record.node, index), made)
                device.samples += [(record.name, each) for each in samples]
    return list(found.values())


def _devices_with_ecc(measured: Measurements) -> Looked:
    devices = _devices(measured)
    counting = sum(bool(device.uncorrected) for device in devices)
    return counting or ("no counts of ECC" if devices else 0)


# Data that ECC could not correct was lost; a later run on the same memory may lose more.
@finding(
    "error",
    "{place}: ECC could not correct {count}{when}",
    "reset it; replace it if that comes again",
    looks_for="memory errors",
    among=_devices_with_ecc,
    fails=True,
    action="reset",
)
def memory_error(measured: Measurements) -> Finds:
    """Devices whose memory had errors that ECC could not correct, or has no spare rows left."""
    for device in _devices(measured):
        counts = device.uncorrected
        if risen := device.risen(UNCORRECTED):
            yield _risen(device, risen)
        elif counts and min(counts) < max(counts):  # some came between two benchmarks
            yield _errors(device, max(counts), SINCE_LOADED)
        if device.has_remapped(FAILED):
            sentence = "{place}: a row of its memory could not be replaced"
            nodes = (device.node,)
            yield Found(device.label, nodes=nodes, sentence=sentence, action="isolate")


@finding(
    "warning",
    "{place}: ECC could not correct {count}{when}",
    "reset it; replace it if that comes again",
    action="reset",
)
def earlier_memory_error(measured: Measurements) -> Finds:
    """Devices whose memory had errors that ECC could not correct, all before this run."""
    for device in _devices(measured):
        counts = device.uncorrected
        if any(counts) and min(counts) == max(counts):
            yield _errors(device, max(counts), f"{SINCE_LOADED}, before this run")


def _risen(device: _Device, risen: Mapping[str, int]) -> Found:
    found = _errors(device, sum(risen.values()), f" (in {shown_names(list(risen), SHOWN)})")
    return replace(found, evidence={"errors": risen})


def _errors(device: _Device, count: int, when: str) -> Found:
    return Found(
        device.label,
        {"errors": count},
        words={"count": count_text(count, "memory error"), "when": when},
        nodes=(device.node,),
    )


@finding(
    "warning",
    "{place}: a row of its memory waits for a reset to be replaced",
    "reset it when nothing runs on it (nvidia-smi --gpu-reset)",
    action="reset",
)
def remap_pending(measured: Measurements) -> Finds:
    for device in _devices(measured):
        if device.has_remapped(PENDING) and not device.has_remapped(FAILED):
            yield Found(device.label, nodes=(device.node,))


@finding(
    "warning",
    "{place}: its PCIe link was of {used}, {share:.0%} of {best}, which is possible",
    "seat it anew, and look at its slot and the BIOS's settings",
    action="watch",
)
def narrow_link(measured: Measurements) -> Finds:
    """Devices whose PCIe link was slower than it, or that of an equal device, can be."""
    possible: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for device in _devices(measured):
        best = possible[device.product]
        for place, key in enumerate(("generation", "width")):
            value = device.link.get(key)
            if is_finite(value) and value <= MOST_LANES:
                best[place] = max(best[place], int(value))
    for device in _devices(measured):
        # an idle device lowers its link; where the load is not known, it may be idle
        used = [each.pcie_link for _, each in device.samples if each.pcie_link and each.load]
        best = possible[device.product]
        if used and all(best):
            link = [max(generation for generation, _ in used), max(width for _, width in used)]
            share = 2.0 ** (link[0] - best[0]) * link[1] / best[1]
            if share < 1:
                yield Found(
                    device.label,
                    evidence={"link": link, "possible": best},
                    words={"share": share, "used": _lanes(*link), "best": _lanes(*best)},
                    nodes=(device.node,),
                )


def _lanes(generation: int, width: int) -> str:
    return f"generation {generation} x{width}"


@finding(
    "note",
    "{place}: ECC corrected {count}{when}",
    "replace it if there are many",
    action="watch",
)
def corrected_memory_error(measured: Measurements) -> Finds:
    for device in _devices(measured):
        if risen := device.risen(CORRECTED):
            yield _risen(device, risen)


@finding(
    "note",
    "{place}: the power cap is {cap:.0f} W, and {default:.0f} W by default",
    "`nvidia-smi -pl` sets it, if that is not meant",
)
def lowered_power_cap(measured: Measurements) -> Finds:
    found = []
    for record in measured.records:
        for index, gpu in record.gpus.items():
            cap, usual = gpu.get("power_limit"), gpu.get("default_power_limit")
            if is_finite(cap) and is_finite(usual) and 0 < cap < (1 - LOWERED) * usual:
                found.append(((cap, usual), label_of(index, record.node)))
    for (cap, usual), labels in grouped(found).items():
        yield Found(shown_names(list(dict.fromkeys(labels))), {"cap": cap, "default": usual})


@finding("note", "{problem}")
def device_note(measured: Measurements) -> Finds:
    """Devices that lack sensors, those that were left out, and mistakes of programs."""
    for note in dict.fromkeys(chain.from_iterable(map(_notes, measured.records))):
        yield Found(words={"problem": note})
    yield from _problems(measured, lambda problem: severity_of(problem) == "note")


def _notes(record: Record) -> list[str]:
    notes = record.accelerators.get("notes")
    return [_on_node(record, str(note)) for note in notes] if isinstance(notes, list) else []


def _problems(measured: Measurements, is_meant: Callable[[DeviceProblem], bool]) -> Finds:
    found = grouped(
        (_on_node(record, problem.sentence), (problem, record))
        for record in measured.records
        for problem in filter(is_meant, record.device_problems)
    )
    for sentence, problems in found.items():
        first = min((problem for problem, _ in problems), key=attrgetter("time"))
        names = list(dict.fromkeys(record.name for _, record in problems))
        when = time.strftime("from %H:%M:%S UTC on %Y-%m-%d, ", time.gmtime(first.time))
        is_note = severity_of(first) == "note"
        said = f"{sentence} ({'' if is_note else when}in {shown_names(names, SHOWN)})"
        evidence: dict[str, object] = {
            "device": first.device,
            "uuid": first.uuid,
            "time": first.time,
            "benchmarks": names,
        }
        if first.xid is not None:
            evidence["xid"] = first.xid
        actions = {problem.action for problem, _ in problems}
        action = next(filter(actions.__contains__, ACTIONS), "")
        # a driver that this user may not use, or that is not there, says nothing of the node
        nodes = (problems[0][1].node,) if first.device is not None or action else ()
        yield Found(first.uuid, evidence, {"problem": said}, nodes=nodes, action=action)


def _on_node(record: Record, sentence: str) -> str:
    return f"{record.node}: {sentence}" if record.node else sentence
