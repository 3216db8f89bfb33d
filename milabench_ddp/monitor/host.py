"""The sensors of this host: its cores, memory, disks and network, by psutil."""

import os
import time
from collections.abc import Sequence
from typing import Any

from ..samples import HostSample

_MIB = 2**20
# Reading the clocks interrupts every core for a moment, and takes 10 ms where there are 200.
_CLOCK_EVERY = 10  # readings
_MB = 1e6


class HostReader:
    """Reads the host; what counts up becomes the rate since the reading before."""

    def __init__(self) -> None:
        self._readings = 0
        self._counted: dict[str, tuple[float, tuple[float, float]]] = {}  # when last read

    def __call__(self) -> HostSample | None:
        """What the host did since the last call; None where the kernel does not tell it.

        At the first call it is only what needs no earlier one.
        """
        import psutil

        try:
            return self._read(psutil)
        except (psutil.Error, OSError, LookupError, RuntimeError, ValueError):  # a new kernel
            return None

    def _read(self, psutil: Any) -> HostSample:
        now = time.time()
        clock = psutil.cpu_freq() if self._readings % _CLOCK_EVERY == 0 else None
        busy = psutil.cpu_percent(percpu=True)  # since the call before
        usable = [busy[cpu] for cpu in os.sched_getaffinity(0) if cpu < len(busy)]
        is_first = self._readings == 0
        self._readings += 1
        memory, swap = psutil.virtual_memory(), psutil.swap_memory()
        disk = psutil.disk_io_counters()  # None without a disk
        received = sent = 0
        for name, network in psutil.net_io_counters(pernic=True).items():
            if name != "lo":
                received += network.bytes_recv
                sent += network.bytes_sent
        return HostSample(
            time=now,
            cpu=None if is_first or not usable else round(sum(usable) / len(usable) / 100, 4),
            cpu_clock=clock.current if clock and clock.current else None,
            memory=((memory.total - memory.available) / _MIB, memory.total / _MIB),
            swap=self._rates("swap", now, (swap.sin, swap.sout)),
            disk=self._rates("disk", now, (disk.read_bytes, disk.write_bytes)) if disk else None,
            network=self._rates("network", now, (received, sent)),
        )

    def _rates(self, name: str, now: float, counts: Sequence[float]) -> tuple[float, float] | None:
        """Two counters of bytes as MB/s; None at first, and where one began anew."""
        first, second = counts
        before, last = self._counted.get(name, (now, None))
        self._counted[name] = now, (first, second)
        if last is None or now <= before or first < last[0] or second < last[1]:
            return None
        seconds = _MB * (now - before)
        return round((first - last[0]) / seconds, 3), round((second - last[1]) / seconds, 3)
