"""How a kind of finding is declared: a function that searches for it, and what is said of it."""

from collections.abc import Callable, Iterable, Sequence, Sized
from typing import Any

from msgspec import Struct

from ...errors import contained, reason_of
from ...results.records import Payload, Record, Run
from ..finding import Finding, Severity
from ..model import Failure, Rows
from ..pooling import Difference


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


class Found(Struct, frozen=True):
    """Something that a search found."""

    place: str = ""
    evidence: Payload = {}
    words: Payload = {}  # of the sentence, beside the place, the benchmark and the evidence
    benchmark: str = ""
    sentence: str = ""  # this and the next in place of those of the finder
    advice: str = ""


Search = Callable[[Any], Iterable[Found]]


class Finder(Struct, frozen=True):
    """A kind of finding."""

    name: str
    search: Search  # in ``Measurements``, or in a ``Row``
    severity: Severity
    sentence: str  # a template, see ``Found.words``
    advice: str
    layer: str
    section: str
    is_traced: bool
    of_runs: bool

    def findings(self, subject: object) -> list[Finding]:
        """The findings about a subject; where the search fails, that is a finding."""
        found: list[Finding] = []

        def failed(error: Exception) -> None:
            sentence = f"the search for `{self.name}` failed: {reason_of(error)}"
            found.append(Finding(sentence, name=self.name, severity=Severity.ERROR))

        with contained(failed):
            for each in self.search(subject):
                words = {"place": each.place, "benchmark": each.benchmark}
                words |= {**each.evidence, **each.words}
                finding = Finding(
                    (each.sentence or self.sentence).format_map(words),
                    each.benchmark,
                    each.place,
                    each.evidence,
                    self.name,
                    self.severity,
                    each.advice or self.advice,
                    self.layer,
                )
                found.append(finding)
        return found


def finding(
    severity: str,
    sentence: str,
    advice: str = "",
    *,
    layer: str = "",
    section: str = "",
    is_traced: bool = False,
    of_runs: bool = False,
) -> Callable[[Search], Finder]:
    """Declare a kind of finding; its name is that of the function, which searches for it.

    Args:
        severity: the value of a ``Severity``.
        sentence: a template, filled from the evidence and the words that the function yields.
        advice: what to do about it.
        layer: the validation layer of milabench that looks for it.
        section: the place in a benchmark's section of the page that shows what it is about.
        is_traced: whether it is about what takes time in a step, which a trace may explain.
        of_runs: whether the function searches in ``Measurements`` instead of a ``Row``.
    """

    def declared(search: Search) -> Finder:
        name = search.__name__
        return Finder(
            name, search, Severity(severity), sentence, advice, layer, section, is_traced, of_runs
        )

    return declared


def in_some_of(found: Sized, processes: Sized) -> str:
    """How many of several processes a finding is about, where it names only one of them."""
    count = len(processes)
    return f" (in {len(found)} of {count} processes)" if count > 1 else ""
