"""The interface of a device back-end, and the reader of variables that hide devices."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import Struct

from ..devices import Device
from ..host import cpu_list

if TYPE_CHECKING:  # what plans needs none of them, and sampling alone needs msgspec
    from ...samples import DeviceProblem, DeviceSample, HostSample


class DriverError(Exception):
    """The library of a device back-end does not work; ``str()`` says why, and what to do."""


class MissingLibraryError(DriverError):
    """It is not there, and so nothing can be sampled."""


class DiscoveryResult(Struct, frozen=True):
    """The devices that were found, and notes for the user, such as why none were found."""

    devices: tuple[Device, ...]
    notes: tuple[str, ...] = ()


class Reading(Struct, frozen=True):
    """Samples of the devices that answered, and the problems of all devices."""

    samples: "Mapping[int, DeviceSample]"  # by the device's index
    problems: "tuple[DeviceProblem, ...]" = ()  # each in every reading for as long as it lasts
    host: "HostSample | None" = None  # what the host did


# Entering it connects to the library of the devices and returns a function that reads all devices
# once. Both raise DriverError. One thread enters, reads and leaves.
SampleSource = AbstractContextManager[Callable[[], Reading]]


class Backend(ABC):
    """One kind of device: how it is found, shown to programs, described and sampled."""

    name: ClassVar[str]  # the value of `--device`
    collectives: ClassVar[str]  # the library for communication: `{ccl}` of a configuration
    torch_device: ClassVar[str]  # the type for torch.device()
    visibility_variable: ClassVar[str]  # the variable by which a plan shows a process its devices
    # The variables by which a caller may have hidden devices. They filter one after another; of the
    # names of each, the first that is set counts.
    caller_variables: ClassVar[tuple[tuple[str, ...], ...]] = ()

    def may_be_present(self) -> bool:
        """Whether it is worth loading the library: a quick guess, which may be wrong."""
        return True

    @abstractmethod
    def discover(self, environ: Mapping[str, str], count: int | None) -> DiscoveryResult:
        """The devices that the caller's environment leaves visible.

        Args:
            count: the number of devices that the user asked for. It is the number of CPU slots; GPU
                back-ends ignore it and find all devices.

        Raises:
            MachineError: the visible devices cannot be used together.
        """

    def visibility_value(self, devices: Sequence[Device]) -> str:
        """The value of the visibility variable that shows a process these devices."""
        return ",".join(device.id for device in devices)

    def environment(self, devices: Sequence[Device]) -> Mapping[str, str]:
        """Other variables that a process on these devices needs."""
        del devices
        return {}

    def accelerators(self, devices: Sequence[Device]) -> dict[str, Any]:
        """The part of the provenance about these devices, JSON-able; never fails.

        A fact that the driver does not tell is None.
        """
        gpus = {}
        for device in devices:
            gpus[str(device.index)] = {
                "device": device.index,
                "id": device.id,
                "product": device.name,
                "memory": {"used": 0.0, "total": device.memory_mib},  # MiB
                "cpus": cpu_list(device.cpus) or None,  # the cores next to it: "0-47,96-143"
            }
            if device.uuid:
                gpus[str(device.index)]["uuid"] = device.uuid
        return {"arch": self.name, "gpus": gpus}

    def source(self, devices: Sequence[Device]) -> SampleSource | None:
        """The source of samples of these devices; None if they have no sensors."""
        del devices
        return None

    def others(self, devices: Sequence[Device]) -> Sequence[str]:
        """The processes that use these devices already, a sentence each; none that are our own."""
        del devices
        return ()

    def caller_filters(self, environ: Mapping[str, str]) -> list[tuple[str, str]]:
        filters = []
        for names in self.caller_variables:
            name = next((name for name in names if name in environ), None)
            if name is not None:
                filters.append((name, environ[name]))
        return filters


class Choice(Struct, frozen=True):
    """One device that a visibility variable names."""

    position: int  # in the list that was chosen from
    by_uuid: bool  # named by its UUID, not by its index


def select(value: str | None, uuids: Sequence[str], instances: Sequence[str] = ()) -> list[Choice]:
    """The devices that ``value`` of a visibility variable names, in its order. Pure.

    The rules are the CUDA driver's. An unset variable shows every device. An entry is an index
    (``1gpu`` counts as 1), or a UUID, or the beginning of exactly one UUID. An entry that names no
    device hides all entries after it (so ``""``, ``-1`` and ``NoDevFiles`` hide all devices). A
    device that is named twice hides everything. Unlike in CUDA, a list may mix indices and UUIDs.

    Args:
        value: the variable's value; None if it is not set.
        uuids: UUIDs of the devices, in the order of their indices.
        instances: UUIDs of the MIG devices, which have no index; their positions follow ``uuids``.
    """
    if value is None:
        return [Choice(i, by_uuid=False) for i in range(len(uuids))]
    chosen: list[Choice] = []
    for entry in map(str.strip, value.split(",")):
        if entry.startswith(("GPU-", "MIG-")):
            everything = [*uuids, *instances]
            fitting = [i for i, uuid in enumerate(everything) if uuid.startswith(entry)]
            if len(fitting) != 1:
                break
            chosen.append(Choice(fitting[0], by_uuid=True))
        else:
            number = re.match(r"\+?([0-9]+)", entry)
            if number is None or int(number[1]) >= len(uuids):
                break
            chosen.append(Choice(int(number[1]), by_uuid=False))
    is_repeated = len({choice.position for choice in chosen}) < len(chosen)
    return [] if is_repeated else chosen
