"""Findings about jitter: steps that take longer again and again."""

from ..finding import Finding, Findings
from ..model import Row
from ..process import counted
from ..ranks.jitter import Jitter, Launches, jitters
from ..ranks.rank_launch import steady_launch
from ..ranks.rank_summary import labels, rank_id

MATTERS = 0.002  # of the time
EXACT = 0.5  # steps: distances that differ by less are equal


def recurring_pauses(row: Row) -> Findings:
    """Steps that take longer at equal distances, such as every 50th."""
    for found in jitters(_launches(row)):
        if found.share < MATTERS:
            continue
        where = f" (in {' and '.join(found.parts)})" if found.parts else ""
        who = _ranks(found)
        sentence = (
            f"{_how_often(found)} a step takes {found.ms:.3g} ms longer{where}"
            f"{who and f', on {who}'}: {found.share:.1%} of the time"
        )
        evidence = {
            "steps": found.steps,
            "spread": found.spread,
            "seconds": found.seconds,
            "ms": found.ms,
            "parts": list(found.parts),
            "ranks": [id.label for id in found.ids],
            "share": found.share,
            "pauses": found.count,
        }
        yield Finding(sentence, place=labels(found.ids), evidence=evidence)


def _launches(row: Row) -> Launches:
    found = []
    for process in counted(row.processes):
        for number, rank in process.record.ranks.items():
            launch = steady_launch(process.record, rank, process.unsteady_of(len(rank.ms)))
            found.append((rank_id(process.record, number), launch))
    return found


def _how_often(found: Jitter) -> str:
    spread = f" ±{found.spread:.0f}" if found.spread >= EXACT else ""
    if found.by_time:
        return f"every {found.seconds:.3g} s (about {found.steps:.0f} steps)"
    return f"every {found.steps:.0f}{spread} steps ({found.seconds:.3g} s)"


def _ranks(found: Jitter) -> str:
    if len(found.ids) < 2:
        return labels(found.ids)
    which = "the same steps" if found.together else "its own step"
    return f"{labels(found.ids)}, {'at' if found.together else 'each at'} {which}"
