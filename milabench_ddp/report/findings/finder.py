"""How a kind of finding is declared: a function that searches for it, and what is said of it."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import suppress
from typing import Any, TypeVar

from msgspec import Struct

from ...errors import contained, reason_of
from ...results.records import Payload, Record, Run
from ...results.state import RunState
from ..finding import Finding, Severity
from ..model import Failure, Rows
from ..pooling import Difference

Key = TypeVar("Key")
Value = TypeVar("Value")
_OPTIONAL = re.compile(r"\[([^][]*)\]")


class Measurements(Struct, frozen=True, dict=True):
    """The input of the findings about runs."""

    compat: bool  # whether the rows are by milabench's formulas
    runs: Sequence[Run]
    rows: Rows  # in the order of their names
    differences: Sequence[Difference] = ()  # between the runs
    from_baseline: Sequence[Difference] = ()  # between the runs and the baseline of the score
    failures: Sequence[Failure] = ()

    @property
    def records(self) -> list[Record]:
        return [record for run in self.runs for record in run.records]

    @property
    def states(self) -> list[RunState]:
        return [run.state for run in self.runs if run.state is not None]


class Found(Struct, frozen=True):
    """Something that a search found."""

    place: str = ""
    evidence: Payload = {}
    words: Payload = {}  # of the sentence, beside the place, the benchmark and the evidence
    benchmark: str = ""
    sentence: str = ""  # this and the next in place of those of the finder
    advice: str = ""


Finds = Iterator[Found]
Search = Callable[[Any], Finds]


class Finder(Struct, frozen=True):
    """A kind of finding."""

    name: str
    search: Search  # in ``Measurements``, or in a ``Row``
    severity: Severity
    sentence: str  # a template: a part in brackets is said if its words are known
    advice: str = ""  # what to do about it
    layer: str = ""  # milabench's validation layer that looks for it
    section: str = ""  # the place in a benchmark's section of the page that shows what it is about
    is_traced: bool = False  # whether it takes time in a step, which a trace may explain
    of_runs: bool = False  # whether to search in ``Measurements``

    def findings(self, subject: object) -> list[Finding]:
        """The findings about a subject; where the search fails, that is a finding."""
        found: list[Finding] = []

        def failed(error: Exception) -> None:
            sentence = f"the search for `{self.name}` failed: {reason_of(error)}"
            found.append(Finding(sentence, name=self.name, severity=Severity.ERROR))

        with contained(failed):
            for each in self.search(subject):
                about = {"place": each.place, "benchmark": each.benchmark}
                words = {**about, **each.evidence, **each.words}
                sentence = _filled(each.sentence or self.sentence, words)
                advice = each.advice or self.advice
                kind = (self.name, self.severity, advice, self.layer)
                found.append(Finding(sentence, each.benchmark, each.place, each.evidence, *kind))
        return found


def finding(
    severity: str, sentence: str, advice: str = "", **where: Any
) -> Callable[[Search], Finder]:
    """Declare a kind of finding; its name is that of the function, which searches for it.

    Args:
        severity: the value of a ``Severity``.
        sentence: as all that follows, a field of ``Finder``.
        advice: see there.
        where: see there.
    """

    def declared(search: Search) -> Finder:
        return Finder(search.__name__, search, Severity(severity), sentence, advice, **where)

    return declared


def _filled(template: str, words: Payload) -> str:
    """A template with its words; a part in brackets needs all of its own: none, empty or NaN."""
    known = {name: word for name, word in words.items() if word not in (None, "") and word == word}
    filled = []
    for place, part in enumerate(_OPTIONAL.split(template)):
        if place % 2 == 0:
            filled.append(part.format_map(words))
            continue
        with suppress(KeyError):
            filled.append(part.format_map(known))
    return "".join(filled)


def grouped(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    """The values of each key, both in the order in which they come."""
    found: dict[Key, list[Value]] = defaultdict(list)
    for key, value in pairs:
        found[key].append(value)
    return found


def in_some_of(found: Sized, processes: Sized) -> str:
    """How many of several processes a finding is about, where it names only one of them."""
    count = len(processes)
    return f" (in {len(found)} of {count} processes)" if count > 1 else ""
