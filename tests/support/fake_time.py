"""Clocks moved by hand, and a timer that reads them: no test sleeps, and every figure is exact."""

from benchmarks.common.marks import Waits
from benchmarks.common.metrics import Emitter
from benchmarks.common.timing import StepTimer

MS = 1_000_000  # nanoseconds


class Time:
    """The host's clock, moved by hand; it also serves as the clock of a CPU."""

    can_hold = False

    def __init__(self):
        self.ns = 0

    def sleep(self, ms):
        self.ns += round(ms * MS)

    def now(self):
        return self.ns

    mark = now

    def happened(self, mark):
        return True

    def wait(self, mark):
        pass

    def milliseconds(self, start, end):
        return (end - start) / MS

    def fetch(self, value):
        return value.detach().clone()

    def recycle(self, marks):
        pass


class Device(Time):
    """A device with a queue: a mark has happened once the work queued before it is done."""

    can_hold = True

    def __init__(self):
        super().__init__()
        self.queued = 0  # when the device will have done all that was queued
        self.waits = []
        self.free = []
        self.made = 0

    def work(self, ms):
        self.queued = max(self.queued, self.ns) + round(ms * MS)

    hold = work

    def mark(self):
        if self.free:
            mark = self.free.pop()
        else:
            mark, self.made = {}, self.made + 1
        mark["ns"] = max(self.queued, self.ns)
        return mark

    def happened(self, mark):
        return mark["ns"] <= self.ns

    def wait(self, mark):
        if not self.happened(mark):
            self.waits.append(self.queued - mark["ns"])  # what is left for the device to do
            self.ns = mark["ns"]

    def milliseconds(self, start, end):
        assert self.happened(end)
        return (end["ns"] - start["ns"]) / MS

    def recycle(self, marks):
        for mark in marks:
            assert not any(mark is other for other in self.free)
            self.free.append(mark)


class CountedWaits(Waits):
    """Waits that count their marks."""

    def __init__(self, clock):
        super().__init__(clock)
        self.made, self._right = 0, self._mark
        self._mark = self._counted

    def _counted(self):
        self.made += 1
        return self._right()


def timer_of(clock, sent, **settings):
    emitter = Emitter(sent.append, settings.pop("rank", 0))
    return StepTimer(clock, emitter, now=clock.now, work=32, units="images", **settings)


def rates(sent, **fields):
    found = [p for p in sent if "rate" in p]
    return [p for p in found if bool(p.get("warmup")) == fields.get("warmup", False)]
