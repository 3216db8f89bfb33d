"""Devices of other vendors than NVIDIA, through the back-ends of voir."""

import importlib
import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .devices import Device
from .found import Found
from .visibility import caller_filters, select

VENDORS: Mapping[str, str] = {"rocm": "AMD", "hpu": "Habana", "xpu": "Intel"}


class VendorError(Exception):
    """A vendor's library failed; ``str()`` says how."""


class Backend:
    """voir's view of the devices of one architecture."""

    def __init__(self, smi: Any) -> None:
        """Use ``open``, which makes the ``DeviceSMI`` of voir that this takes."""
        self._smi = smi

    @classmethod
    def open(cls, arch: str) -> "Backend":
        """Connect to the vendor's library.

        Raises:
            VendorError: it is not installed, or its driver does not answer.
        """
        module = importlib.import_module(f"voir.instruments.gpu.{arch}")
        if not module.is_installed():
            raise VendorError(f"its Python package is not installed ({module.IMPORT_ERROR})")
        try:
            return cls(module.DeviceSMI())
        except (Exception, SystemExit) as error:  # vendors' bindings raise anything, one exits
            raise VendorError(f"its driver does not answer ({error!r})") from error

    def read(self) -> dict[int, Mapping[str, Any]]:
        """voir's entry for each device, by its index.

        Raises:
            VendorError: the library failed.
        """
        try:
            return dict(self._smi.get_gpus_info(None))
        except (Exception, SystemExit) as error:
            raise VendorError(repr(error)) from error

    def close(self) -> None:
        """Disconnect."""
        self._smi.close()


def sign_of(arch: str, root: Path = Path("/")) -> bool:
    """Whether it is worth to load a vendor's library: cheap, and wrong at times."""
    match arch:
        case "rocm":
            return (root / "dev/kfd").exists()
        case "hpu":
            return importlib.util.find_spec("pyhlml") is not None or _any(root, "dev/hl[0-9]*")
        case _:  # most Intel GPUs only draw: without dpctl, nothing could train on them
            return importlib.util.find_spec("dpctl") is not None and _any(root, "dev/dri/render*")


def find_vendor(arch: str, environ: Mapping[str, str]) -> Found:
    """The devices of ``arch`` that ``environ`` leaves visible."""
    try:
        backend = Backend.open(arch)
        try:
            entries = backend.read()
        finally:
            backend.close()
    except VendorError as error:
        return Found((), (f"no {VENDORS[arch]} device: {error}",))
    if not entries:
        return Found((), (f"no {VENDORS[arch]} device",))
    return visible(arch, entries, environ)


def visible(
    arch: str, entries: Mapping[int, Mapping[str, Any]], environ: Mapping[str, str]
) -> Found:
    """The devices of ``entries`` that ``environ`` shows, by index: voir tells no UUIDs. Pure.

    A device's id is its position in what the variable that the plan sets chooses from; on AMD, that
    is what the caller's ROCR_VISIBLE_DEVICES leaves.
    """
    places = [(index, str(index)) for index in sorted(entries)]  # (index, id)
    for name, value in caller_filters(arch, environ):
        chosen = select(value, [id for _, id in places])
        if not chosen:
            return Found((), (f"{name}={value!r} leaves none of {len(places)} devices visible",))
        places = [places[choice.position] for choice in chosen]
        if name == "ROCR_VISIBLE_DEVICES":
            places = [(index, str(i)) for i, (index, _) in enumerate(places)]
    return Found(tuple(_device(index, id, entries[index]) for index, id in places))


def _device(index: int, id: str, entry: Mapping[str, Any]) -> Device:
    return Device(index, id, str(entry["product"]), float(entry["memory"]["total"]))


def _any(root: Path, pattern: str) -> bool:
    return next(iter(root.glob(pattern)), None) is not None
