"""The marks of some steps: at the ends of their parts, and within them where a rank waits.

A part of a step, such as the backward pass, can contain communication that nothing hides. The
strategy that wraps the model knows where this begins and ends, and marks it: ``Waits.begin`` and
``Waits.end``. These marks are of the same clock as those of the parts, are queued with the work
like them, and are read with them.
"""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Protocol

import numpy
import torch

from benchmarks.common.clocks import NO_CLOCK, Clock

EXPOSED = "exposed_communication"  # the part of a step that all of its waits are


# A mark within a part of a step: how many marks of parts came before it, whether a wait begins here
# (or ends), and the mark. It is made within the step, so it is a tuple, which takes least time.
WaitMark = tuple[int, bool, Any]


@dataclass
class Observation:
    """The marks of consecutive steps."""

    first: int  # index of its first step
    warmup: bool
    marks: list[Any]  # the start, then for each step: its batch is there, each part is done
    stride: int  # marks of a step
    waits: list[WaitMark] = field(default_factory=list)
    waited_ns: dict[int, int] = field(default_factory=dict)  # by the host's clock: waits that ended
    loss: torch.Tensor | None = None
    known: Any = None  # the mark after which all marks and the loss can be read

    @property
    def steps(self) -> int:
        return (max(len(self.marks), 1) - 1) // self.stride

    def cut(self) -> None:
        """Drop the marks of a step that failed half-way."""
        del self.marks[self.stride * self.steps + 1 :]
        self.waits = [wait for wait in self.waits if 0 < wait[0] < len(self.marks)]
        for part in [part for part in self.waited_ns if not 0 < part < len(self.marks)]:
            del self.waited_ns[part]

    def spans(self, clock: Clock) -> numpy.ndarray:
        """Milliseconds between one mark and the next: a row for each step."""
        if self.marks and isinstance(self.marks[0], int):  # nanoseconds of the host's clock
            found = numpy.diff(numpy.array(self.marks, dtype=numpy.int64)) / 1e6
        else:
            found = numpy.array([clock.milliseconds(*pair) for pair in pairwise(self.marks)])
        return found.reshape(-1, self.stride)

    def waited(self, clock: Clock) -> numpy.ndarray:
        """The milliseconds of ``spans`` that are waits.

        A wait ends at its end, or else with its part. Of several beginnings the last counts.
        """
        found = numpy.zeros(len(self.marks) - 1)
        for part, ns in self.waited_ns.items():
            found[part - 1] = ns / 1e6
        nothing: WaitMark = (0, False, None)
        for (part, begins, begin), following in pairwise([*self.waits, nothing]):
            if not begins:
                continue
            its_part, begins_again, end = following
            if its_part != part:
                found[part - 1] += clock.milliseconds(begin, self.marks[part])
            elif not begins_again:
                found[part - 1] += clock.milliseconds(begin, end)
        return found.reshape(-1, self.stride)


class Hooks(Protocol):
    """Hooks on a model."""

    def put_on(self) -> None:
        """Put them on, after they were taken off."""

    def take_off(self) -> None:
        """Take them off."""


class Waits:
    """Marks where a rank waits for communication, within the parts of its steps."""

    def __init__(self, clock: Clock) -> None:
        self.clock, self._mark, self._is_on = clock, clock.mark, True
        self.hooks: list[Hooks] = []  # that make marks
        self._open = Observation(0, True, [], 1)

    def switch(self, *, on: bool) -> None:
        """Make marks from now on, or none; then ``hooks`` are not on their model either."""
        if on != self._is_on:
            for hooks in self.hooks:
                hooks.put_on() if on else hooks.take_off()
        self._is_on = on
        self._mark = self.clock.mark if on else NO_CLOCK.mark

    def open(self, observation: Observation) -> None:
        self._open = observation

    def recycle(self, observation: Observation) -> None:
        """Take back the marks of an observation, which will not be read again."""
        self.clock.recycle([mark for _, _, mark in observation.waits])

    @property
    def is_open(self) -> bool:
        seen = self._open
        return bool(seen.waits) and seen.waits[-1][:2] == (len(seen.marks), True)

    def begin(self) -> None:
        """From here on this rank waits, if it does not yet: until ``end``, or the part's end."""
        if not self.is_open:
            self.begin_anew()

    def begin_anew(self) -> None:
        """Up to here this rank has not waited in this part; from here on it may."""
        seen, mark = self._open, self._mark()
        if isinstance(mark, int) and self.is_open:
            seen.waits.pop()
        seen.waits.append((len(seen.marks), True, mark))

    def last(self) -> Any:
        """The last mark that was made."""
        return self._open.waits[-1][2]

    def end(self) -> None:
        """The wait is over, if there was one."""
        if not self.is_open:
            return
        seen, mark = self._open, self._mark()
        if not isinstance(mark, int):
            seen.waits.append((len(seen.marks), False, mark))
            return
        # The host's time is known now: no mark is kept until the loop ends.
        part, _, begun = seen.waits.pop()
        seen.waited_ns[part] = seen.waited_ns.get(part, 0) + mark - begun
