"""A finding: something that stands out or that is wrong."""

import re
from collections.abc import Mapping
from contextlib import suppress
from enum import StrEnum
from typing import Annotated

from msgspec import Struct

from ..codec import about
from ..results.records import Payload

# What a finding says of its benchmark: that it is wrong, or slower than it could be, or unsure
KINDS = ("broken", "slow", "other", "unsure")
_OPTIONAL = re.compile(r"\[([^][]*)\]")


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
    evidence: Annotated[Payload, about("the numbers behind it")] = {}
    # as its function in ``findings`` declares them
    name: str = ""
    severity: Severity = Severity.WARNING
    advice: Annotated[str, about("what to do")] = ""
    layer: Annotated[str, about("milabench's validation layer that looks for it, or empty")] = ""
    kind: Annotated[str, about(f"one of {', '.join(KINDS)}")] = "other"
    cost: Annotated[
        float | None, about("the share of the suite's work that it takes, by weight")
    ] = None
    nodes: Annotated[tuple[str, ...], about("those that it is about")] = ()
    fails: Annotated[bool, about("whether these nodes fail a validation by it")] = False
    action: Annotated[str, about("to these nodes or devices: isolate, reboot, ...")] = ""


class Checked(Struct, frozen=True):
    """What was looked for: among how many, and where it could not be."""

    looks_for: str
    finding: Annotated[str, about("the name of what is looked for")]
    found: Annotated[int, about("how many such findings there are")]
    compared: Annotated[Mapping[str, int], about("how many of them, by benchmark")]
    not_compared: Annotated[Mapping[str, tuple[str, ...]], about("benchmarks, by the reason")]


def filled(template: str, words: Payload) -> str:
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
