"""Findings about losses that say that a program does not learn. NaN is a failure: see ``failed``.

A loss that stays where it is within its noise is no finding: on random data, which is new in each
step, there is nothing to learn.
"""

from typing import TYPE_CHECKING

from ...metric_line import LARGEST
from ..finding import Finding, Findings
from ..model import Row
from ..process import counted
from .finder import in_some_of

if TYPE_CHECKING:
    from ...numerics import Floats

FEWEST = 30  # losses: fewer of them are noise
ABOVE = 0.95  # of the pairs of an early and a late loss: the late one is higher
MATTERS = 0.1  # the least rise, as a share of the largest early loss


def losses_not_falling(row: Row) -> Findings:
    """Losses that rise beyond their noise, or that are the same number again and again."""
    found = []
    processes = counted(row.processes)
    for process in processes:
        told = process.record.losses.values()
        losses = told[abs(told) < LARGEST]
        said = _rise(losses) or _standstill(losses)
        if said:
            found.append((process.record.tag, said, losses))
    if found:
        tag, said, losses = found[0]
        evidence = {"losses": len(losses), "first": float(losses[0]), "last": float(losses[-1])}
        where = in_some_of(len(found), len(processes))
        yield Finding(f"{tag}: its loss {said}{where}", place=tag, evidence=evidence)


def _rise(losses: "Floats") -> str:
    """From where to where the losses rise; empty if they do not."""
    from ...numerics import np

    if len(losses) < FEWEST:
        return ""
    third = len(losses) // 3
    early, late = np.sort(losses[:third]), losses[-third:]
    higher = int(np.searchsorted(early, late).sum())
    before, after = float(np.median(early)), float(np.median(late))
    # a loss that has fallen to almost nothing moves by many times itself
    if higher < ABOVE * third**2 or after - before < MATTERS * float(abs(early).max()):
        return ""
    return f"rises, from {before:.4g} to {after:.4g}"


def _standstill(losses: "Floats") -> str:
    """That all losses are the same number; empty if they differ. One of 0 has been learned."""
    if len(losses) < FEWEST or not losses[0] or (losses != losses[0]).any():
        return ""
    return f"is {losses[0]:.6g} in each of {len(losses)} lines: nothing is learned"
