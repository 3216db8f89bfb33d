"""A finding: something that stands out or that is wrong."""

from enum import StrEnum
from typing import Annotated

from msgspec import Struct, field

from ..codec import about
from ..results.records import Payload


class Severity(StrEnum):
    """How serious a finding is, the worst first."""

    ERROR = "error"  # a number must not be trusted, or something is broken
    WARNING = "warning"  # the numbers are right, but not what the machine could reach, or unsure
    NOTE = "note"  # about the machine, or how the numbers were calculated

    @property
    def rank(self) -> int:
        """Its place in the order, 0 for the worst."""
        return list(Severity).index(self)


class Finding(Struct, frozen=True):
    """A finding: something that stands out or that is wrong."""

    sentence: Annotated[str, about("the complete finding, as the text report shows it")]
    benchmark: Annotated[str, about("empty where it is about a run or a file")] = ""
    place: Annotated[str, about("a rank, a device, a process or a file")] = ""
    evidence: Annotated[Payload, about("the numbers behind it")] = field(default_factory=dict)
    # as its function in ``findings`` declares them
    name: str = ""
    severity: Severity = Severity.WARNING
    advice: Annotated[str, about("what to do")] = ""
    layer: Annotated[str, about("milabench's validation layer that looks for it, or empty")] = ""
