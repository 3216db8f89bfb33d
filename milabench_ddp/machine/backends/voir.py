"""Devices through the libraries that voir wraps: of Habana and Intel, and for AMD's."""

import importlib
import importlib.util
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from ctypes import byref, c_uint64
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict

from msgspec.structs import replace

from ..devices import Device
from .backend import Backend, DiscoveryResult, DriverError, MissingLibraryError, Reading, select
from .torch_gpus import seen_by_torch

if TYPE_CHECKING:  # what plans needs none of them, and sampling alone needs msgspec
    from ...samples import DeviceSample


class Entry(TypedDict):
    """The readings of a device in voir; a negative number stands for "unknown"."""

    product: str
    memory: Mapping[str, float]  # used and total, MiB
    utilization: Mapping[str, float]  # compute, 0..1
    temperature: float  # degrees Celsius
    power: float  # W
    uuid: str  # empty if it is not known


Entries = Mapping[int, Entry]  # by the index of the device


class VoirBackend(Backend):
    """A kind of device that voir can read."""

    vendor: ClassVar[str]

    def discover(self, environ: Mapping[str, str], count: int | None) -> DiscoveryResult:
        del count
        notes: tuple[str, ...] = ()
        try:
            devices = self.devices()
        except DriverError as error:
            devices, said = [], str(error)
            if self.torch_device == "cuda" and self.may_be_present():
                devices, said = seen_by_torch(error, environ, of_amd=True)
            if not devices:
                return DiscoveryResult((), (f"no {self.vendor} device: {said}",))
            notes = (said,)
        found = self.visible_devices(devices, environ)
        return replace(found, notes=(*notes, *found.notes))

    def devices(self) -> list[Device]:
        """All devices of this host, in the order in which the visibility variable counts them."""
        devices = []
        for index, entry in sorted(_read_once(self.name).items()):
            memory, uuid = float(entry["memory"]["total"]), entry["uuid"]
            devices.append(Device(index, str(index), str(entry["product"]), memory, uuid=uuid))
        return devices

    def visible_devices(
        self, devices: Sequence[Device], environ: Mapping[str, str]
    ) -> DiscoveryResult:
        """Those of all devices that ``environ`` shows, by index or UUID. Pure.

        A device's id is its position among the devices that the plan's visibility variable can
        choose from; on AMD, these are the devices that the caller's ROCR_VISIBLE_DEVICES leaves.
        """
        if not devices:
            return DiscoveryResult((), (f"no {self.vendor} device",))
        for name, value in self.caller_filters(environ):
            chosen = select(value, [device.uuid or device.id for device in devices])
            if not chosen:
                note = f"{name}={value!r} leaves none of {len(devices)} devices visible"
                return DiscoveryResult((), (note,))
            devices = [devices[choice.position] for choice in chosen]
            if name == "ROCR_VISIBLE_DEVICES":
                devices = [replace(device, id=str(i)) for i, device in enumerate(devices)]
        return DiscoveryResult(tuple(devices))

    def accelerators(self, devices: Sequence[Device]) -> dict[str, Any]:
        found = super().accelerators(devices)
        with suppress(DriverError):
            entries = _read_once(self.name)
            for gpu in found["gpus"].values():
                if gpu["device"] in entries:
                    gpu["memory"] = entries[gpu["device"]]["memory"]
        return found

    @contextmanager
    def source(self, devices: Sequence[Device]) -> Iterator[Callable[[], Reading]]:
        from ...samples import DeviceProblem

        with open_library(self.name) as read:

            def read_all() -> Reading:
                entries = read()
                samples = {}
                problems = []
                for device in devices:
                    if device.index in entries:
                        samples[device.index] = sample(entries[device.index])
                    else:
                        sentence = f"device {device.index} gives no samples"
                        problems.append(DeviceProblem(sentence, device.index, is_lost=True))
                return Reading(samples, tuple(problems))

            yield read_all


class HabanaBackend(VoirBackend):
    """Gaudi accelerators of Habana."""

    name = "hpu"
    vendor = "Habana"
    collectives = "hccl"
    torch_device = "hpu"
    visibility_variable = "HABANA_VISIBLE_MODULES"
    caller_variables = (("HABANA_VISIBLE_MODULES",),)

    def may_be_present(self, root: Path = Path("/")) -> bool:
        return importlib.util.find_spec("pyhlml") is not None or any(root.glob("dev/hl[0-9]*"))


class IntelBackend(VoirBackend):
    """GPUs of Intel."""

    name = "xpu"
    vendor = "Intel"
    collectives = "ccl"
    torch_device = "xpu"
    visibility_variable = "ZE_AFFINITY_MASK"
    caller_variables = (("ZE_AFFINITY_MASK",),)

    def may_be_present(self, root: Path = Path("/")) -> bool:
        return importlib.util.find_spec("dpctl") is not None and any(root.glob("dev/dri/render*"))


@contextmanager
def open_library(name: str) -> Iterator[Callable[[], Entries]]:
    """Open voir's library of the back-end ``name``; yields a function that reads all its devices.

    Raises:
        DriverError: the library is not installed, or its driver does not answer; the function
            raises it, too.
    """
    module = importlib.import_module(f"voir.instruments.gpu.{name}")
    if not module.is_installed():
        raise MissingLibraryError(f"its Python package is not installed ({module.IMPORT_ERROR})")
    try:
        library = module.DeviceSMI()
    except (Exception, SystemExit) as error:  # vendors' bindings raise anything, one exits
        raise DriverError(f"its driver does not answer ({error!r})") from error

    def read() -> Entries:
        try:
            entries: Entries = dict(library.get_gpus_info(None))
            for index, entry in entries.items():
                entry["uuid"] = _uuid(library, index)
        except (Exception, SystemExit) as error:
            raise DriverError(repr(error)) from error
        return entries

    try:
        yield read
    finally:
        library.close()


def _read_once(name: str) -> Entries:
    with open_library(name) as read:
        return read()


def _uuid(library: object, index: int) -> str:
    """As HIP has it, by rocm_smi; empty if it has none, or is the library of another vendor."""
    ask = getattr(getattr(library, "smi", None), "rsmi_dev_unique_id_get", None)
    number = c_uint64()
    is_told = ask is not None and ask(index, byref(number)) == 0
    return f"GPU-{number.value:016x}" if is_told and number.value else ""


def sample(entry: Entry) -> "DeviceSample":
    from ...samples import DeviceSample

    memory = entry["memory"]
    values = {
        "load": entry["utilization"]["compute"],
        "temperature": entry["temperature"],
        "power": entry["power"],
    }
    known: dict[str, Any] = {name: float(value) for name, value in values.items() if value >= 0}
    return DeviceSample((float(memory["used"]), float(memory["total"])), **known)
