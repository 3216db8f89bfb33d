"""Findings about devices that work, but not as they should: heat, memory errors, links, others."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field

from ...errors import shown_names
from ...results.records import Payload, Record, is_finite, mapping_or_empty
from ...samples import DeviceSample
from ..finding import Finding, Findings
from ..model import Row
from ..monitored import Monitored, Stretch
from ..statistics.values import largest
from .finder import Measurements

HOT = 5.0  # degrees below the heat at which a device slows down
LEAST_SHARED = 0.01  # of the measured steps
MOST_LANES = 64  # more are damage
PENDING, FAILED = 2, 3  # of the counts of remapped rows
_SHOWN = 3  # benchmarks that a sentence names


def hot_devices(row: Row) -> Findings:
    """Devices that were about to be slowed down by heat."""
    for label, launches in _by_label(row).items():
        in_use = [sample for device in launches for sample in device.in_use]
        left = [sample.headroom for sample in in_use if sample.headroom is not None]
        if left and min(left) < HOT:
            hottest = largest(sample.temperature for sample in in_use)
            heat = "the heat that slows it down"
            sentence = f"{label} came within {min(left):.0f} degrees of {heat}"
            if min(left) <= 0:
                sentence = f"{label} reached {heat}"
                sentence += f", and was {-min(left):.0f} degrees above it" * (min(left) < 0)
            if not math.isnan(hottest):
                sentence += f" (it was at {hottest:.0f} C)"
            evidence = {"headroom": min(left), "temperature": hottest}
            yield Finding(sentence, place=label, evidence=evidence)


def foreign_processes(row: Row) -> Findings:
    """Devices on which processes that are not of the run computed, too."""
    for label, launches in _by_label(row).items():
        shared: list[Stretch] = []
        for device in launches:
            shared += [stretch for stretch in device.stretches if stretch.sample.foreign]
        share = sum(stretch.steps for stretch in shared) / len(launches)
        names: dict[str, None] = {}
        for stretch in shared:
            names |= dict.fromkeys(stretch.sample.foreign or ())
        if share >= LEAST_SHARED:
            others = shown_names(list(names), _SHOWN)
            sentence = f"{label} was shared in {share:.0%} of the measured steps: {others}"
            evidence = {"share": share, "processes": list(names)}
            yield Finding(sentence, place=label, evidence=evidence)


def _by_label(row: Row) -> Mapping[str, Sequence[Monitored]]:
    found: dict[str, list[Monitored]] = defaultdict(list)
    for device in row.measuring:
        found[device.label].append(device)
    return found


class _History(Struct):
    """A device in a run: its samples of each benchmark."""

    label: str
    accelerator: Payload
    samples: dict[str, list[DeviceSample]] = field(default_factory=lambda: defaultdict(list))

    @property
    def product(self) -> str:
        return str(self.accelerator.get("product") or "")

    @property
    def ecc(self) -> Mapping[str, Sequence[tuple[int, int]]]:
        found = {}
        for name, samples in self.samples.items():
            known = [sample.ecc for sample in sorted(samples, key=_time) if sample.ecc is not None]
            if known:
                found[name] = known
        return found

    def risen(self, which: int) -> dict[str, int]:
        """By how much a count of errors rose in each benchmark in which it did."""
        rises = {name: counts[-1][which] - counts[0][which] for name, counts in self.ecc.items()}
        return {name: rise for name, rise in rises.items() if rise > 0}

    def has_remapped(self, which: int) -> bool:
        """Whether a count of its remapped rows was above 0."""
        for samples in self.samples.values():
            if any(each.remapped[which] for each in samples if each.remapped is not None):
                return True
        return False


def _time(sample: DeviceSample) -> float:
    return sample.time or 0.0


def _histories(measured: Measurements) -> Iterator[_History]:
    for run in measured.runs:
        found: dict[tuple[str, str], _History] = {}
        for record in run.records:
            for device, samples in record.samples.items():
                if record.device is None or device == str(record.device):
                    made = _History(_label(record, device), record.gpu(device))
                    history = found.setdefault((record.node, device), made)
                    history.samples[record.name] += samples
        yield from found.values()


def _label(record: Record, device: str) -> str:
    uuid = record.gpu(device).get("uuid")
    label = f"GPU {device} ({uuid})" if uuid else f"GPU {device}"
    return f"{record.node}: {label}" if record.node else label


def memory_errors(measured: Measurements) -> Findings:
    """Devices whose memory had errors that ECC could not correct, or has no spare rows left."""
    for device in _histories(measured):
        counts = _uncorrected(device)
        if risen := device.risen(1):
            yield _errors(device, "could not correct", risen)
        elif counts and min(counts) < max(counts):  # some came between two benchmarks
            yield _since_its_driver(device, max(counts), "")
        if device.has_remapped(FAILED):
            sentence = f"{device.label}: a row of its memory could not be replaced"
            yield Finding(sentence, place=device.label)


def earlier_memory_errors(measured: Measurements) -> Findings:
    """Devices whose memory had errors that ECC could not correct, all before this run."""
    for device in _histories(measured):
        counts = _uncorrected(device)
        if any(counts) and min(counts) == max(counts) and not device.risen(1):
            yield _since_its_driver(device, max(counts), ", before this run")


def _uncorrected(device: _History) -> list[int]:
    return [count for known in device.ecc.values() for _, count in known]


def _since_its_driver(device: _History, count: int, when: str) -> Finding:
    errors = f"{_memory_errors(count)} since its driver was loaded{when}"
    sentence = f"{device.label}: ECC could not correct {errors}"
    return Finding(sentence, place=device.label, evidence={"errors": count})


def pending_remaps(measured: Measurements) -> Findings:
    """Devices that replace a row of their memory as soon as they are reset."""
    for device in _histories(measured):
        if device.has_remapped(PENDING) and not device.has_remapped(FAILED):
            sentence = f"{device.label}: a row of its memory waits for a reset to be replaced"
            yield Finding(sentence, place=device.label)


def corrected_errors(measured: Measurements) -> Findings:
    """Devices of which ECC corrected memory errors while benchmarks ran."""
    for device in _histories(measured):
        if risen := device.risen(0):
            yield _errors(device, "corrected", risen)


def _errors(device: _History, did: str, risen: Mapping[str, int]) -> Finding:
    count = sum(risen.values())
    names = shown_names(list(risen), _SHOWN)
    sentence = f"{device.label}: ECC {did} {_memory_errors(count)} (in {names})"
    return Finding(sentence, place=device.label, evidence={"errors": dict(risen)})


def _memory_errors(count: int) -> str:
    return "1 memory error" if count == 1 else f"{count} memory errors"


def narrow_links(measured: Measurements) -> Findings:
    """Devices whose PCIe link was slower than it, or that of an equal device, can be."""
    histories = list(_histories(measured))
    best: dict[str, tuple[int, int]] = {}
    for device in histories:
        generation, width = _most(device)
        known = best.get(device.product, (0, 0))
        best[device.product] = max(generation, known[0]), max(width, known[1])
    for device in histories:
        used: list[tuple[int, int]] = []
        for samples in device.samples.values():
            # an idle device lowers its link; where the load is not known, it may be idle
            used += [each.pcie_link for each in samples if each.pcie_link and each.load]
        if not used:
            continue
        link = max(generation for generation, _ in used), max(width for _, width in used)
        possible = best[device.product]
        share = _speed(link) / _speed(possible) if all(possible) else 1.0
        if share < 1:
            sentence = (
                f"{device.label}: its PCIe link was of generation {link[0]} x{link[1]}, "
                f"{share:.0%} of generation {possible[0]} x{possible[1]}, which is possible"
            )
            evidence = {"link": list(link), "possible": list(possible)}
            yield Finding(sentence, place=device.label, evidence=evidence)


def _most(device: _History) -> tuple[int, int]:
    """The greatest generation and width that the driver tells; 0 if it does not."""
    link = mapping_or_empty(device.accelerator.get("pcie"))
    generation, width = link.get("generation"), link.get("width")
    return (
        int(generation) if is_finite(generation) and 0 < generation <= MOST_LANES else 0,
        int(width) if is_finite(width) and 0 < width <= MOST_LANES else 0,
    )


def _speed(link: tuple[int, int]) -> float:
    generation, width = link
    return float(2**generation * width)
