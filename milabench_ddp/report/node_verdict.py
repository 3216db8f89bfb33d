"""The verdict on a node, as a report tells it; ``validation.verdicts`` makes it."""

from collections.abc import Collection
from enum import StrEnum
from typing import Annotated

from msgspec import Struct

from ..codec import about
from .statistics.values import NAN


class Word(StrEnum):
    """Whether a node is fit to train on, the worst first."""

    FAIL = "fail"
    CANNOT_TELL = "cannot tell"
    PASS = "pass"


class NodeVerdict(Struct, frozen=True):
    """A node of a validation; the numbers are those in which it is furthest below its peers."""

    node: str
    verdict: Word
    reasons: Annotated[tuple[str, ...], about("why it fails or cannot be told, gravest first")] = ()
    action: Annotated[str, about("what to do to it: isolate, reboot, reset, watch, or empty")] = ""
    benchmark: str = ""
    place: Annotated[str, about("the device")] = ""
    value: float = NAN
    unit: str = ""
    peers: Annotated[float, about("the median of its peers")] = NAN
    lower: Annotated[float, about("how far it is below them, as a fraction")] = NAN
    smallest: Annotated[
        float, about("the smallest defect that is found 99 times in 100, as a fraction")
    ] = NAN


def worst(verdicts: Collection[NodeVerdict]) -> Word:
    """The verdict on all nodes together."""
    return min((each.verdict for each in verdicts), key=list(Word).index)
