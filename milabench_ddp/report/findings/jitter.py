"""Findings about jitter: steps that take longer again and again."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from ..model import Finding, Findings, Row
from ..process import counted
from ..ranks.jitter import Jitter, Launches, jitters
from ..ranks.rank_launch import steady_launch
from ..ranks.rank_summary import RankId, rank_id

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


def labels(ids: Iterable[RankId]) -> str:
    """Ranks or devices as people write them: ``ranks 0-3, 7 (node-2)``; without any, empty."""
    found = []
    by_kind = sorted(ids, key=lambda id: (id.node, id.name.rpartition(" ")[0], id.rank))
    for (node, kind), several in groupby(by_kind, _kind):
        numbers = [id.rank for id in several]
        where = f" ({node})" if node else ""
        found.append(f"{kind}{'s' if len(numbers) > 1 else ''} {_spans(numbers)}{where}")
    return ", ".join(found)


def _kind(id: RankId) -> tuple[str, str]:
    return id.node, id.name.rpartition(" ")[0]


def _spans(numbers: Sequence[int]) -> str:
    """Ascending numbers, those in a row as their first and last."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][-1] + 1:
            spans[-1].append(number)
        else:
            spans.append([number])
    return ", ".join(f"{s[0]}-{s[-1]}" if len(s) > 1 else str(s[0]) for s in spans)
