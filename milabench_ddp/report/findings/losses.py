"""Findings about losses that say that a program does not learn. NaN is a failure: see ``failures``.

A loss that stays where it is within its noise is no finding: on random data, which is new in each
step, there is nothing to learn. The speed counts all the same: it depends on the numbers in few
kernels.
"""

from ...metric_line import LARGEST
from ...numerics import Floats, np
from ..model import Row
from .finder import Finds, Found, Looked, finding, in_some_of

FEWEST = 30  # losses: fewer of them are noise
ABOVE = 0.95  # of the pairs of an early and a late loss: the late one is higher
MATTERS = 0.1  # the least rise, as a share of the largest early loss


def _losses_told(row: Row) -> Looked:
    counts = [len(process.record.losses) for process in row.counted]
    enough = sum(count >= FEWEST for count in counts)
    return enough or (f"fewer than {FEWEST} losses" if any(counts) else 0)


@finding(
    "warning",
    "{place}: its loss {does}{where}",
    "check its data and its learning rate",
    layer="loss",
    many="the losses of {count} benchmarks do not fall: {all}",
    looks_for="losses that rise",
    among=_losses_told,
)
def loss_not_falling(row: Row) -> Finds:
    """Losses that rise beyond their noise, or that are the same number again and again."""
    found = []
    for process in row.counted:
        told = process.record.losses.values()
        losses = told[abs(told) < LARGEST]
        if does := _not_falling(losses):
            found.append((process.record.tag, does, losses))
    if found:
        tag, does, losses = found[0]
        yield Found(
            tag,
            evidence={"losses": len(losses), "first": float(losses[0]), "last": float(losses[-1])},
            words={"does": does, "where": in_some_of(found, row.counted)},
        )


def _not_falling(losses: Floats) -> str:
    """What the losses do instead; empty if they fall, or are too few to know."""
    if len(losses) < FEWEST:
        return ""
    if losses[0] and (losses == losses[0]).all():  # a loss of 0 has been learned
        return f"is {losses[0]:.6g} in each of {len(losses)} lines: nothing is learned"
    third = len(losses) // 3
    early, late = np.sort(losses[:third]), losses[-third:]
    higher = int(np.searchsorted(early, late).sum())
    before, after = float(np.median(early)), float(np.median(late))
    # a loss that has fallen to almost nothing moves by many times itself
    if higher < ABOVE * third**2 or after - before < MATTERS * float(abs(early).max()):
        return ""
    return f"rises, from {before:.4g} to {after:.4g}"
