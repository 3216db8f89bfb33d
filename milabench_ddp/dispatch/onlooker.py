"""Who looks on while the points of a sweep run."""

import time
from collections.abc import Callable, Sequence
from typing import Protocol, TextIO


class Onlooker(Protocol):
    """Is told what happens."""

    def begin(self, name: str, nodes: Sequence[str], limit: float) -> None:
        """A point starts on these nodes, for at most ``limit`` seconds."""

    def end(self, name: str, outcome: str, reason: str) -> None:
        """A point has ended."""

    def say(self, text: str) -> None:
        """Something else that a person should know."""


class PlainOnlooker:
    """A line for each thing that happens, flushed."""

    def __init__(self, out: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._out, self._clock = out, clock
        self._since: dict[str, float] = {}

    def begin(self, name: str, nodes: Sequence[str], limit: float) -> None:
        """A point starts."""
        self._since[name] = self._clock()
        self.say(f"{name}: on {', '.join(nodes)}, at most {limit:g} s")

    def end(self, name: str, outcome: str, reason: str) -> None:
        """A point has ended."""
        since = self._since.pop(name, None)
        took = "" if since is None else f" in {self._clock() - since:.1f} s"
        self.say(f"{name}: {outcome}{took}{f', {reason}' if reason else ''}")

    def say(self, text: str) -> None:
        """Anything else."""
        print(f"{time.strftime('%H:%M:%S')} {text}", file=self._out, flush=True)


class QuietOnlooker:
    """Shows nothing."""

    def begin(self, name: str, nodes: Sequence[str], limit: float) -> None:
        """Nothing."""

    def end(self, name: str, outcome: str, reason: str) -> None:
        """Nothing."""

    def say(self, text: str) -> None:
        """Nothing."""
