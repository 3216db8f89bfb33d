"""The environment variables that show or hide devices, and what their values mean. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

# The variable that a plan sets for each architecture. CPU slots set CUDA's to "", which hides the
# GPUs. HIP's, not ROCR's: HIP counts within what ROCR leaves, so a caller's ROCR stays in force.
VISIBILITY: Mapping[str, str] = MappingProxyType(
    {
        "cuda": "CUDA_VISIBLE_DEVICES",
        "rocm": "HIP_VISIBLE_DEVICES",
        "hpu": "HABANA_VISIBLE_MODULES",
        "xpu": "ZE_AFFINITY_MASK",
        "cpu": "CUDA_VISIBLE_DEVICES",
    }
)

# What a caller may have set: filters one after another, each the first of its names that is set.
CALLERS: Mapping[str, tuple[tuple[str, ...], ...]] = MappingProxyType(
    {
        "cuda": (("CUDA_VISIBLE_DEVICES",),),
        "rocm": (("ROCR_VISIBLE_DEVICES",), ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")),
        "hpu": (("HABANA_VISIBLE_MODULES",),),
        "xpu": (("ZE_AFFINITY_MASK",),),
        "cpu": (),
    }
)


@dataclass(frozen=True)
class Choice:
    """One device that a visibility variable names."""

    position: int  # in the list that was chosen from
    by_uuid: bool  # named by its UUID, not by its index


def select(value: str | None, uuids: Sequence[str], instances: Sequence[str] = ()) -> list[Choice]:
    """The devices that ``value`` of a visibility variable names, in its order.

    As the CUDA driver reads it: an unset variable shows every device; an entry is an index
    (``1gpu`` counts as 1), or a UUID or a beginning of one that fits one device only; an entry that
    names no device hides itself and all after it (so ``""``, ``-1`` and ``NoDevFiles`` hide all);
    a device named twice hides everything. Unlike CUDA's, a list may mix indices and UUIDs.

    Args:
        value: the variable's value, None where it is not set.
        uuids: of the devices, in the order of their indices.
        instances: UUIDs of the MIG devices, which have no index; their positions follow ``uuids``.
    """
    if value is None:
        return [Choice(i, by_uuid=False) for i in range(len(uuids))]
    chosen: list[Choice] = []
    for entry in value.split(","):
        choice = _one(entry.strip(), [*uuids, *instances], len(uuids))
        if choice is None:
            break
        chosen.append(choice)
    if len({choice.position for choice in chosen}) < len(chosen):
        return []
    return chosen


def _one(entry: str, names: Sequence[str], indexed: int) -> Choice | None:
    if entry.startswith(("GPU-", "MIG-")):
        fitting = [i for i, name in enumerate(names) if name.startswith(entry)]
        return Choice(fitting[0], by_uuid=True) if len(fitting) == 1 else None
    number = re.match(r"\+?([0-9]+)", entry)
    if number is None or int(number[1]) >= indexed:
        return None
    return Choice(int(number[1]), by_uuid=False)


def caller_filters(arch: str, environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """The visibility variables of ``arch`` that the caller has set, as (name, value), in order."""
    found = []
    for names in CALLERS[arch]:
        name = next((name for name in names if name in environ), None)
        if name is not None:
            found.append((name, environ[name]))
    return found
