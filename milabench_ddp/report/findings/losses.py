"""Findings about losses that say that a program does not learn. NaN is a failure: see ``failed``.

A loss that stays where it is within its noise is no finding: on random data, which is new in each
step, there is nothing to learn.
"""

from collections.abc import Sequence

from ...results.records import is_finite
from ..model import Finding, Findings, Row
from ..process import counted
from ..statistics.values import median
from .finder import in_some_of

FEWEST = 30  # losses: fewer of them are noise
ABOVE = 0.95  # of the pairs of an early and a late loss: the late one is higher
MATTERS = 0.1  # the least rise, as a share of the largest early loss


def losses_not_falling(row: Row) -> Findings:
    """Losses that rise beyond their noise, or that are the same number again and again."""
    found = []
    processes = counted(row.processes)
    for process in processes:
        losses = [float(loss) for loss in process.record.losses if is_finite(loss)]
        said = _rise(losses) or _standstill(losses)
        if said:
            found.append((process.record.tag, said, losses))
    if found:
        tag, said, losses = found[0]
        evidence = {"losses": len(losses), "first": losses[0], "last": losses[-1]}
        where = in_some_of(len(found), len(processes))
        yield Finding(f"{tag}: its loss {said}{where}", place=tag, evidence=evidence)


def _rise(losses: Sequence[float]) -> str:
    """From where to where the losses rise; empty if they do not."""
    if len(losses) < FEWEST:
        return ""
    third = len(losses) // 3
    early, late = losses[:third], losses[-third:]
    higher = sum(after > before for after in late for before in early)
    rise = median(late) - median(early)
    # a loss that has fallen to almost nothing moves by many times itself
    if higher < ABOVE * third**2 or rise < MATTERS * max(map(abs, early)):
        return ""
    return f"rises, from {median(early):.4g} to {median(late):.4g}"


def _standstill(losses: Sequence[float]) -> str:
    """That all losses are the same number; empty if they differ. One of 0 has been learned."""
    if len(losses) < FEWEST or len(set(losses)) > 1 or not losses[0]:
        return ""
    return f"is {losses[0]:.6g} in each of {len(losses)} lines: nothing is learned"
