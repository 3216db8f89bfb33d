"""How a finding is found: its function, which severity it has, and what to do about it."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ...results.records import Run
from ..finding import Findings, Severity
from ..model import Failure, Rows
from ..pooling import Difference

Subject = TypeVar("Subject")


class Measurements(Struct, frozen=True):
    """The input of the findings about runs."""

    compat: bool  # whether the rows are by milabench's formulas
    runs: Sequence[Run]
    rows: Rows  # in the order of their names
    differences: Sequence[Difference] = ()  # between the runs
    from_baseline: Sequence[Difference] = ()  # between the runs and the baseline of the score
    failures: Sequence[Failure] = ()


class Finder(Struct, Generic[Subject], frozen=True):
    """The function for one kind of finding, with its severity and its advice."""

    find: Callable[[Subject], Findings]
    severity: Severity
    advice: str = ""  # what to do about it, unless a finding says something else
    layer: str = ""  # the validation layer of milabench that looks for it

    def findings(self, name: str, subject: Subject) -> Findings:
        """The findings about a subject, with what they share filled in."""
        for finding in self.find(subject):
            advice = finding.advice or self.advice
            yield replace(
                finding, name=name, severity=self.severity, advice=advice, layer=self.layer
            )


def note(find: Callable[[Subject], Findings], advice: str = "", layer: str = "") -> Finder[Subject]:
    """A finder of what is worth knowing."""
    return Finder(find, Severity.NOTE, advice, layer)


def warning(
    find: Callable[[Subject], Findings], advice: str = "", layer: str = ""
) -> Finder[Subject]:
    """A finder of what is not as it should be."""
    return Finder(find, Severity.WARNING, advice, layer)


def error(
    find: Callable[[Subject], Findings], advice: str = "", layer: str = ""
) -> Finder[Subject]:
    """A finder of what is broken, or makes a number one that must not be trusted."""
    return Finder(find, Severity.ERROR, advice, layer)


def in_some_of(count: int, processes: int) -> str:
    """How many of several processes a finding is about, where it names only one of them."""
    return f" (in {count} of {processes} processes)" if processes > 1 else ""
