"""The log of this host's kernel, and what NVIDIA's driver has reported there of its devices."""

import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import Struct

from ..samples import DeviceProblem
from .tools import answers

_JOURNAL = "journalctl --dmesg --output short-unix --lines 5000; tail -c 500000 /var/log/kern.log"
_PATIENCE = 2.0  # seconds
_MOST = 1 << 17  # records of /dev/kmsg: a driver may write them faster than they are read
_RECORD = 1 << 13  # bytes of one, at most

_KMSG = re.compile(r"\d+,\d+,(\d+),[^;]*;(.*)")  # microseconds since the boot
_SYSLOG = re.compile(r"(\S+) \S+ kernel: (?:\[ *[\d.]+\] ?)?(.*)")
_XID = re.compile(r"NVRM: Xid \((?:PCI:)?([\da-fA-F:.]+)[^)]*\): (\d+)")


class LogLine(Struct, frozen=True):
    """A line of the kernel's log."""

    time: float  # seconds since the epoch
    text: str


def kernel_log(root: Path = Path("/"), boot: float | None = None) -> list[LogLine]:
    """The lines that this user may read, the oldest first.

    Args:
        boot: when the kernel's clock was 0, in seconds since the epoch; None for that of this host.

    Raises:
        PermissionError: this user may read none.
    """
    boot = time.time() - time.monotonic() if boot is None else boot
    try:
        text = _buffer(root / "dev/kmsg")
    except OSError:
        text = answers({"": _JOURNAL}, _PATIENCE)[""].text
    lines = [*_lines(text, boot)]
    if not lines:
        raise PermissionError("this user may read neither /dev/kmsg, nor the journal, nor kern.log")
    return lines


def _buffer(path: Path) -> str:
    records: list[bytes] = []
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        while len(records) < _MOST:
            with suppress(BrokenPipeError):  # the kernel has overwritten the next one
                if not (record := os.read(fd, _RECORD)):
                    break
                records.append(record)
    except BlockingIOError:  # all have been read
        pass
    finally:
        os.close(fd)
    return b"".join(records).decode(errors="replace")


def _lines(text: str, boot: float) -> Iterator[LogLine]:
    for line in text.splitlines():
        if found := _KMSG.match(line):
            yield LogLine(boot + int(found[1]) / 1e6, found[2])
        elif found := _SYSLOG.match(line):
            with suppress(ValueError):  # a time without its year
                is_date = "T" in found[1]
                when = datetime.fromisoformat(found[1]).timestamp() if is_date else float(found[1])
                yield LogLine(when, found[2])


def reported(
    lines: Iterable[LogLine], gpus: Mapping[str, Mapping[str, Any]]
) -> Iterator[DeviceProblem]:
    """The Xids of these GPUs in the kernel's log.

    Args:
        gpus: facts by the index of each, as a back-end tells them: `uuid`, and `bus_id` of `pcie`.
    """
    places = {_address(str((gpu.get("pcie") or {}).get("bus_id"))): i for i, gpu in gpus.items()}
    for line in lines:
        if (found := _XID.search(line.text)) and (index := places.get(_address(found[1]))):
            uuid = str(gpus[index].get("uuid") or "")
            said = f"GPU {index} ({uuid}) reported Xid {found[2]}"
            yield DeviceProblem(said, int(index), uuid, time=line.time, xid=int(found[2]))


def _address(text: str) -> tuple[int, ...]:
    """The domain, the bus and the device of a PCI address."""
    return tuple(int(part, 16) for part in re.findall(r"\b[\da-fA-F]+\b", text)[:3])
