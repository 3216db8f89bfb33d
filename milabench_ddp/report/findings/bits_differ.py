"""Findings about devices that compute other bits than they should: silent data corruption."""

from ...errors import shown_names
from ..bits import OtherBits, judged_bits
from ..model import Row
from .finder import Finds, Found, finding


# What it computed cannot be trusted, now or before.
@finding(
    "error",
    "{place}: WRONG BITS: {how}, first in step {step}, in `{tensor}`",
    "take it out of service; look for uncorrected and remapped memory errors, and replace it",
    looks_for="wrong bits",
    among=lambda row: judged_bits(row).compared,
    fails=True,
    action="isolate",
)
def bits_differ(row: Row) -> Finds:
    """Devices that compute other bits each time, or other ones than all that are like them."""
    for each in judged_bits(row).wrong:
        how = "it does not compute the same bits again"
        if each.usual:
            how = f"{each.usual} devices that are like it agree in others"
        yield _found(each, how)


@finding(
    "warning",
    "{place}: {how}, first in step {step}, in `{tensor}`: it cannot be told who is wrong",
    "compare their libraries and settings; run it on more devices that are like them",
    looks_for="wrong bits",
)
def bits_unclear(row: Row) -> Finds:
    """Devices that are like each other and differ, where no one of them differs from most."""
    for each in judged_bits(row).unclear:
        how = "devices that are alike compute different bits, and no more than half agree"
        if each.usual:
            how = f"they agree in bits that {each.usual} devices that are like them do not have"
        yield _found(each, how)


@finding(
    "warning",
    "{place}: bits were not compared: there was no time for a pass",
    "raise `max_duration`, or look for what else runs on the host",
    looks_for="wrong bits",
)
def bits_not_compared(row: Row) -> Finds:
    """Devices whose program had time for less than one pass, as on a busy host."""
    if without := judged_bits(row).without:
        tags = [record.tag for record in without]
        yield Found(shown_names(tags), nodes=tuple({record.node: 0 for record in without}))


def _found(each: OtherBits, how: str) -> Found:
    return Found(
        shown_names(each.tags),
        evidence={"step": each.first.step, "tensor": each.first.tensor, "usual": each.usual},
        words={"how": how},
        nodes=each.nodes,
    )
