"""Findings about devices and nodes that the spread of their peers does not explain."""

from ..model import Row
from ..node_verdict import Word
from ..validation.peers import NODE, judged
from .finder import Finds, Found, Looked, finding

OF = {
    "peers": "the median of its peers",
    "earlier": "the median of earlier runs",
    "published": "what others published",
}


def _compared(row: Row) -> Looked:
    all_judged = judged(row)
    compared = sum(each.reference != "" for each in all_judged)
    return compared or next((each.why for each in all_judged), 0)


@finding(
    "error",
    "{place} is {lower:.1%} below {of} ({value:.5g} against {median:.5g}[ {unit}]), {why}; a "
    "defect of {smallest:.1%} is found 99 times in 100",
    "look at its clocks, heat and power; if it stays, give it back with this evidence",
    section="ranks",
    looks_for="devices and nodes below their peers",
    among=_compared,
    fails=True,
    action="isolate",
)
def below_peers(row: Row) -> Finds:
    """Of a node that is slow as a whole, its devices are not named."""
    failed = [each for each in judged(row) if each.word is Word.FAIL]
    nodes = {each.node for each in failed if each.place == NODE}
    for each in failed:
        place = f"{each.place} ({each.node})" if each.node else each.place
        if each.place == NODE:
            place = each.node or NODE
        elif each.node in nodes:
            continue
        evidence = {key: getattr(each, key) for key in ("value", "median", "lower", "smallest")}
        yield Found(
            place,
            evidence,
            words={"unit": each.unit, "of": OF[each.reference], "why": each.why},
            nodes=(each.node,),
        )
