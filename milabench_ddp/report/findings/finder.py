"""How a kind of finding is declared: a function that searches for it, and what is said of it."""

from collections.abc import Callable, Iterator, Sequence, Sized
from typing import Any

from msgspec import Struct

from ...errors import contained, reason_of
from ...results.records import Payload, Record, Run, is_finite
from ...results.state import RunState
from ..finding import Finding, Severity, filled
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

    @property
    def states(self) -> list[RunState]:
        return [run.state for run in self.runs if run.state is not None]


class Found(Struct, frozen=True):
    """Something that a search found."""

    place: str = ""
    evidence: Payload = {}
    words: Payload = {}  # of the sentence, beside the place, the benchmark and the evidence
    benchmark: str = ""
    nodes: tuple[str, ...] = ()  # those that it is about
    sentence: str = ""  # this and the next two in place of those of the finder
    advice: str = ""
    action: str = ""


Finds = Iterator[Found]
Search = Callable[[Any], Finds]
Looked = int | str
"""Among how many a search looked for something, or why it could not; 0 where there are none."""


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
    costs: str = ""  # the evidence that is the share of a step that it takes, or a gain, `faster`
    many: str = ""  # of several, a template with {count}, and {all}, which is of ``each``
    each: str = "{benchmark}"  # a template
    looks_for: str = ""  # in a list of what was looked for; of several, separated by commas
    among: Callable[[Any], Looked] | None = None  # None: another finder tells it
    fails: bool = False  # whether the nodes of a finding fail a validation by it
    action: str = ""  # what to do to them

    @property
    def kind(self) -> str:
        """What its findings say of their benchmark, one of ``KINDS``."""
        if self.severity is Severity.ERROR:
            return "broken"
        if self.costs:
            return "slow"
        return "unsure" if self.section == "rate" else "other"

    def findings(self, subject: object, weight: float = 1.0) -> list[Finding]:
        """What the search finds, or that it failed; ``weight`` is the row's, of all weights."""
        found: list[Finding] = []

        def failed(error: Exception) -> None:
            sentence = f"the search for `{self.name}` failed: {reason_of(error)}"
            found.append(Finding(sentence, name=self.name, severity=Severity.ERROR))

        with contained(failed):
            for each in self.search(subject):
                words = {
                    "place": each.place,
                    "benchmark": each.benchmark,
                    **each.evidence,
                    **each.words,
                }
                found.append(
                    Finding(
                        filled(each.sentence or self.sentence, words),
                        each.benchmark,
                        each.place,
                        each.evidence,
                        self.name,
                        self.severity,
                        each.advice or self.advice,
                        self.layer,
                        self.kind,
                        self._cost(each.evidence, weight),
                        each.nodes,
                        self.fails,
                        each.action or self.action,
                    )
                )
        return found

    def _cost(self, evidence: Payload, weight: float) -> float | None:
        """The share of a step that a finding takes, of all steps by weight; None if not known."""
        share = evidence.get(self.costs)
        if not is_finite(share):
            return None
        return weight * (share / (1 + share) if self.costs == "faster" else share)


def finding(
    severity: str, sentence: str, advice: str = "", **where: Any
) -> Callable[[Search], Finder]:
    """Declare a kind of finding; its name is that of the function, which searches for it."""

    def declared(search: Search) -> Finder:
        of_runs = Measurements in search.__annotations__.values()
        return Finder(
            search.__name__, search, Severity(severity), sentence, advice, of_runs=of_runs, **where
        )

    return declared


def in_some_of(found: Sized, processes: Sized) -> str:
    """How many of several processes a finding is about, where it names only one of them."""
    count = len(processes)
    return f" (in {len(found)} of {count} processes)" if count > 1 else ""
