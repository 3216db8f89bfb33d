"""Findings about devices that may draw less power than usual, and those that were hardly used."""

from collections import defaultdict

from ...errors import shown_names
from ...results.records import Payload, is_finite, mapping_or_empty
from ...samples import DeviceSample
from ..finding import Finding, Findings
from ..model import Row
from ..process import counted
from ..statistics.values import NAN, known, largest, mean
from .finder import Measurements

LEAST_LOAD = 0.01  # milabench's: below it the device did nothing
FEWEST_SAMPLES = 5
LOWERED = 0.01  # of the default


def lowered_power_caps(measured: Measurements) -> Findings:
    """Devices whose power cap is below their default."""
    found: dict[tuple[float, float], dict[str, None]] = defaultdict(dict)
    for run in measured.runs:
        for record in run.records:
            for index, gpu in mapping_or_empty(record.accelerators.get("gpus")).items():
                cap, usual = _caps(mapping_or_empty(gpu))
                if cap < (1 - LOWERED) * usual:
                    label = f"GPU {index} of {record.node}" if record.node else f"GPU {index}"
                    found[cap, usual][label] = None
    for (cap, usual), labels in found.items():
        devices = shown_names(list(labels))
        sentence = f"{devices}: the power cap is {cap:.0f} W, and {usual:.0f} W by default"
        yield Finding(sentence, place=devices, evidence={"cap": cap, "default": usual})


def _caps(gpu: Payload) -> tuple[float, float]:
    """The power cap of a GPU, and its default; both 0 where one is not known."""
    cap, usual = gpu.get("power_limit"), gpu.get("default_power_limit")
    return (cap, usual) if is_finite(cap) and is_finite(usual) and cap > 0 else (0.0, 0.0)


def idle_devices(row: Row) -> Findings:
    """Devices below the load, or the memory, that the benchmark asks for.

    ``validation.usage`` asks; without it a device of no load at all counts, and no memory.
    """
    usage = mapping_or_empty(mapping_or_empty(row.config.get("validation")).get("usage"))
    least_load, least_memory = usage.get("gpu_load_threshold"), usage.get("gpu_mem_threshold")
    least_load = least_load if is_finite(least_load) else LEAST_LOAD
    for label, samples in _measured(row).items():
        loads = known(sample.load for sample in samples)
        load = mean(loads)
        if len(loads) >= FEWEST_SAMPLES and load < least_load:
            sentence = f"the mean load of {label} was {load:.1%}, below {least_load:.0%}"
            yield Finding(sentence, place=label, evidence={"load": load, "least": least_load})
        full = largest(map(_full, samples))
        if is_finite(least_memory) and full < least_memory:
            sentence = f"at most {full:.1%} of the memory of {label} was used, below "
            sentence += f"{least_memory:.0%}"
            yield Finding(sentence, place=label, evidence={"memory": full, "least": least_memory})


def _measured(row: Row) -> dict[str, list[DeviceSample]]:
    """The samples of each device while it was measured; where that is not known, all."""
    found: dict[str, list[DeviceSample]] = defaultdict(list)
    for process in counted(row.processes):
        record = process.record
        window = process.window if record.samples else None
        for device, samples in record.samples.items():
            if record.device is not None and device != str(record.device):
                continue
            label = f"GPU {device} of {record.node}" if record.node else f"GPU {device}"
            inside = samples
            if window is not None:
                inside = [s for s in samples if window.begin <= (s.time or 0.0) <= window.end]
            found[label] += inside or samples
    return found


def _full(sample: DeviceSample) -> float:
    if sample.memory is None or not sample.memory[1] > 0:
        return NAN
    return sample.memory[0] / sample.memory[1]
