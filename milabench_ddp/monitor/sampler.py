"""The device monitor: one thread that samples all devices of a node."""

import threading
import time
from collections.abc import Callable, Mapping

from ..machine.backends.backend import DriverError, Reading, SampleSource
from ..samples import DeviceSample

# NVML's load is a mean over the last 1/6 to 1 s, by product: sampling faster mostly reads the same
# values again, and each reading takes the driver's time. milabench takes 3 s, which leaves a
# benchmark of 10 s with three samples.
INTERVAL = 1.0  # seconds

STOP_TIMEOUT = 5.0  # seconds; a stuck driver must not delay the end of a run

Sink = Callable[[float, Mapping[int, DeviceSample]], None]


class Sampler:
    """Reads a source every ``interval`` seconds in a thread of its own, until it is stopped.

    ``sink`` gets the time (epoch seconds) and the samples of the devices that answered, by index.
    ``on_problem`` gets each different problem once, as a sentence. Both are called in that thread,
    and ``on_problem`` also in ``stop``; they must not raise. A source that fails is read again,
    because it may recover.
    """

    def __init__(
        self, source: SampleSource, interval: float, sink: Sink, on_problem: Callable[[str], None]
    ) -> None:
        """Prepare; ``start`` connects to the source and reads at once."""
        self._source = source
        self._interval = interval
        self._sink = sink
        self._on_problem = on_problem
        self._reported: set[str] = set()
        self._stop = threading.Event()
        # A daemon thread, so that a stuck driver does not keep the program from ending.
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)

    def start(self) -> None:
        """Begin to sample; at most once."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread, as soon as a reading that is under way returns; may be called twice."""
        self._stop.set()
        if self._thread.ident is None:
            return
        self._thread.join(STOP_TIMEOUT)
        if self._thread.is_alive():
            self._report(
                "the library of the devices does not answer; the thread that reads it is abandoned"
            )

    def _run(self) -> None:
        try:
            with self._source as read:
                due = time.monotonic()
                while not self._stop.is_set():
                    self._sample(read)
                    due = next_due(due, time.monotonic(), self._interval)
                    self._stop.wait(due - time.monotonic())
        except DriverError as error:
            self._report(str(error))

    def _sample(self, read: Callable[[], Reading]) -> None:
        try:
            reading = read()
        except DriverError as error:
            self._report(str(error))
            return
        for problem in reading.problems:
            self._report(problem)
        if reading.samples:
            self._sink(time.time(), reading.samples)

    def _report(self, problem: str) -> None:
        if problem not in self._reported:
            self._reported.add(problem)
            self._on_problem(problem)


def next_due(due: float, now: float, interval: float) -> float:
    """The first time after ``now`` that is a whole number of ``interval`` after ``due``.

    The times lie on a grid, so that the mean of the samples is a mean over time. A reading that
    takes longer than the interval skips times, and does not catch up.
    """
    return due + interval * ((now - due) // interval + 1)
