"""The monitor: one thread that samples all devices of a node, and its host."""

import os
import queue
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from types import ModuleType
from typing import Any

from msgspec.structs import replace

from ..errors import contained, reason_of
from ..samples import CounterRates, DeviceProblem, HostSample
from .backends.backend import DriverError, MissingLibraryError, Reading, SampleSource

# NVML's load is a mean over the last 1/6 to 1 s, by product: sampling faster mostly reads the same
# values again, and each reading takes the driver's time. milabench takes 3 s, which leaves a
# benchmark of 10 s with three samples.
INTERVAL = 1.0  # seconds
_LEAST = 0.01  # seconds: faster samples fill the disk with the same values

_MIB = 2**20
# Reading the clocks interrupts every core for a moment, and takes 10 ms where there are 200.
_CLOCK_EVERY = 10  # readings

PATIENCE = 5.0  # seconds; a stuck driver must not delay the end of a launch
_STUCK = DeviceProblem(
    f"the library of the devices has not answered for {PATIENCE:g} s, as where one of them is lost",
    action="reboot",
)

Sink = Callable[[float, Reading], None]


class Sampler:
    """Reads a source every ``interval`` seconds in a thread of its own, until it is stopped.

    ``host`` reads the host, after the devices. ``sink`` gets the time (epoch seconds) and the
    reading. Both are called in that thread, and must not raise. A source that fails is read again,
    because it may recover.
    """

    def __init__(
        self,
        source: SampleSource,
        interval: float,
        sink: Sink,
        host: Callable[[], HostSample | None] = lambda: None,
    ) -> None:
        self._source, self._host = source, host
        self._interval = max(interval, _LEAST)
        self._sink = sink
        self._asked: queue.SimpleQueue[threading.Event] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._is_idle = threading.Event()
        self._is_idle.set()
        self._begun = 0.0  # the last reading, by the monotonic clock
        # A daemon thread, so that a stuck driver does not keep the program from ending.
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def read_now(self) -> None:
        """Read at once, and wait until that is done; if it takes too long, ``sink`` is told so."""
        done = threading.Event()
        self._asked.put(done)
        if not done.wait(PATIENCE):
            self._sink(time.time(), Reading({}, (_STUCK,)))

    def settle(self) -> None:
        """Wait for a reading that is under way; if it takes too long, ``sink`` is told so."""
        if not self._is_idle.wait(max(0.0, self._begun + PATIENCE - time.monotonic())):
            self._sink(time.time(), Reading({}, (_STUCK,)))

    def stop(self) -> None:
        """End the thread, as soon as a reading that is under way returns; may be called twice.

        One that does not return is abandoned.
        """
        self._stop.set()
        self._asked.put(threading.Event())
        if self._thread.ident is not None:
            self._thread.join(PATIENCE)

    def _run(self) -> None:
        with ExitStack() as stack:
            failed: DriverError | None = None
            try:
                read = stack.enter_context(self._source)
            except DriverError as error:
                failed = error
            due = time.monotonic()
            asked = None
            while not self._stop.is_set():
                self._begun = time.monotonic()
                self._is_idle.clear()
                with contained(self._tell):
                    try:
                        if failed is not None:
                            raise failed
                        reading = read()
                    except DriverError as error:
                        is_fault = not isinstance(error, MissingLibraryError)
                        reading = Reading({}, (DeviceProblem(str(error), is_fault=is_fault),))
                    self._sink(time.time(), replace(reading, host=self._host()))
                self._is_idle.set()
                if asked is not None:
                    asked.set()
                due = next_due(due, time.monotonic(), self._interval)
                asked = None
                with suppress(queue.Empty):  # until it is due, or is asked for
                    asked = self._asked.get(timeout=max(0.0, due - time.monotonic()))

    def _tell(self, error: Exception) -> None:
        self._sink(time.time(), Reading({}, (DeviceProblem(reason_of(error), is_fault=False),)))


def next_due(due: float, now: float, interval: float) -> float:
    """The first time after ``now`` that is a whole number of ``interval`` after ``due``.

    The times lie on a grid, so that the mean of the samples is a mean over time. A reading that
    takes longer than the interval skips times, and does not catch up.
    """
    return due + interval * ((now - due) // interval + 1)


class HostReader:
    """Reads the cores, memory, disks and network of this host, by psutil."""

    def __init__(self) -> None:
        self._readings = 0
        self._rates = CounterRates()

    def __call__(self) -> HostSample | None:
        """What the host did since the last call; None where the kernel does not tell it.

        At the first call it is only what needs no earlier one.
        """
        import psutil

        try:
            return self._read(psutil)
        except (psutil.Error, OSError, LookupError, RuntimeError, ValueError):  # a new kernel
            return None

    def _read(self, psutil: ModuleType) -> HostSample:
        now = time.time()
        is_first = self._readings == 0
        clock = psutil.cpu_freq() if self._readings % _CLOCK_EVERY == 0 else None
        self._readings += 1
        busy = psutil.cpu_percent(percpu=True)  # since the call before
        usable = [busy[cpu] for cpu in os.sched_getaffinity(0) if cpu < len(busy)]
        memory, swap = psutil.virtual_memory(), psutil.swap_memory()
        disk = psutil.disk_io_counters()  # None without a disk
        networks = psutil.net_io_counters(pernic=True)
        networks.pop("lo", None)
        received = sum(network.bytes_recv for network in networks.values())
        sent = sum(network.bytes_sent for network in networks.values())

        def rates(name: str, *counters: int) -> Any:
            return self._rates.since_last(name, now, [counter / 1e6 for counter in counters])

        return HostSample(
            time=now,
            cpu=None if is_first or not usable else round(sum(usable) / len(usable) / 100, 4),
            cpu_clock=clock.current if clock and clock.current else None,
            memory=((memory.total - memory.available) / _MIB, memory.total / _MIB),
            swap=rates("swap", swap.sin, swap.sout),
            disk=rates("disk", disk.read_bytes, disk.write_bytes) if disk else None,
            network=rates("network", received, sent),
        )
