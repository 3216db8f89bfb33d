"""The monitor: one thread that samples all devices of a node, and its host."""

import queue
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress

from msgspec.structs import replace

from ..errors import contained, reason_of
from ..machine.backends.backend import DriverError, Reading, SampleSource
from ..samples import DeviceProblem, HostSample

# NVML's load is a mean over the last 1/6 to 1 s, by product: sampling faster mostly reads the same
# values again, and each reading takes the driver's time. milabench takes 3 s, which leaves a
# benchmark of 10 s with three samples.
INTERVAL = 1.0  # seconds

PATIENCE = 5.0  # seconds; a stuck driver must not delay the end of a launch
_STUCK = DeviceProblem(
    f"the library of the devices has not answered for {PATIENCE:g} s, as where one of them is lost"
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
        self._interval = interval
        self._sink = sink
        self._asked: queue.SimpleQueue[threading.Event] = queue.SimpleQueue()
        self._stop = threading.Event()
        # A daemon thread, so that a stuck driver does not keep the program from ending.
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)

    def start(self) -> None:
        """Begin to sample; at most once."""
        self._thread.start()

    def read_now(self) -> None:
        """Read at once, and wait until that is done; if it takes too long, ``sink`` is told so."""
        done = threading.Event()
        self._asked.put(done)
        if not done.wait(PATIENCE):
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
            read = _opened(self._source, stack)
            due = time.monotonic()
            asked = None
            while not self._stop.is_set():
                with contained(self._tell):
                    self._sink(time.time(), replace(read(), host=self._host()))
                if asked is not None:
                    asked.set()
                due = next_due(due, time.monotonic(), self._interval)
                asked = self._next_request(due)

    def _tell(self, error: Exception) -> None:
        self._sink(time.time(), Reading({}, (DeviceProblem(reason_of(error), is_fault=False),)))

    def _next_request(self, due: float) -> threading.Event | None:
        """Wait until ``due``, or until a reading is asked for: then, what to set after it."""
        with suppress(queue.Empty):
            return self._asked.get(timeout=max(0.0, due - time.monotonic()))
        return None


def _opened(source: SampleSource, stack: ExitStack) -> Callable[[], Reading]:
    """The function that reads a source; where the source fails, its reading is why."""
    try:
        read = stack.enter_context(source)
    except DriverError as error:
        failed = Reading({}, (DeviceProblem(str(error)),))
        return lambda: failed

    def read_or_tell() -> Reading:
        try:
            return read()
        except DriverError as error:
            return Reading({}, (DeviceProblem(str(error)),))

    return read_or_tell


def next_due(due: float, now: float, interval: float) -> float:
    """The first time after ``now`` that is a whole number of ``interval`` after ``due``.

    The times lie on a grid, so that the mean of the samples is a mean over time. A reading that
    takes longer than the interval skips times, and does not catch up.
    """
    return due + interval * ((now - due) // interval + 1)
