"""Findings about ranks that are slower than those they train with, and about nodes of such."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence, Set
from itertools import groupby

from msgspec import Struct

from ...table import Measured
from ..finding import Finding, Findings
from ..model import Row
from ..once import once
from ..ranks.rank_summary import RankId, RankSummary, labels, peers
from ..ranks.stragglers import Straggler, all_stragglers
from ..statistics.values import median
from .what_if import condition, faster

OF_OTHERS = "the median of the others"
OF_STAGE = "the median of the others with its stages"


class Late(Struct, frozen=True):
    """Ranks that are slow in the same part of the step, or most ranks of a node."""

    slow: Sequence[Straggler]  # the slowest first
    reference: str  # what they are compared with
    share: str = ""  # of a node: how many of its ranks they are

    @property
    def place(self) -> str:
        first = self.slow[0].rank.id
        return first.node if self.share else first.label

    @property
    def local_ms(self) -> float:
        times = [each.rank.local_ms for each in self.slow]
        return median(times) if self.share else times[0]

    @property
    def slower(self) -> float:
        return self.local_ms / self.slow[0].typical - 1

    def sentence(self) -> str:
        """Which rank is slow, by how much, when, where, and which ranks wait."""
        first = self.slow[0]
        against = f"{self.local_ms:.5g} against {first.typical:.5g} ms a step"
        is_median = self.reference in (OF_OTHERS, OF_STAGE)
        waits = "they wait" if is_median else f"{self.reference} waits"
        sentence = (
            f"{self.place} is {self.slower:.1%} slower than {self.reference} in its own "
            f"work{first.when}{self.share} ({against}, mostly {first.part}): {waits} for it"
        )
        others = self.slow[1:]
        if others and not self.share:
            sentence += f", and for {labels(each.rank.id for each in others)}"
        return sentence


def slow_ranks(row: Row) -> Findings:
    """The ranks that the others of their job wait for: one finding for each part that is slow."""
    yield from findings_of_ranks(row, of_nodes=False)


def findings_of_ranks(row: Row, *, of_nodes: bool) -> Findings:
    """The slow ranks of each slow node, or those of no such node; of pipelines, by their stages."""
    if any(process.record.device is not None for process in row.processes):
        return
    late = _late(row)
    always = [each for each in late if not each.slow[0].when]
    everyone = {one.rank.id for each in always for one in each.slow}
    for each in late:
        if bool(each.share) is not of_nodes:
            continue
        first, sentence = each.slow[0], each.sentence()
        evidence: dict[str, object] = {
            "local_ms": each.local_ms,
            "median": first.typical,
            "slower": each.slower,
            "part": first.part,
            "ranks": {one.rank.id.label: one.slower for one in each.slow},
        }
        if first.when:  # what it costs depends on how the run goes on
            yield Finding(sentence, place=each.place, evidence=evidence | {"when": first.when[1:]})
            continue
        gain = _gain_without(row, {one.rank.id for one in each.slow})
        if gain is not None:
            which = "they were as fast" if len(each.slow) > 1 else "it were as fast"
            sentence += f"; if {which}, steps would be {gain.text('.1%')} faster"
            evidence |= {"faster": float(gain), "faster_error": gain.error}
        gain = _gain_without(row, everyone) if len(always) > 1 else None
        if gain is not None:
            sentence += f", and without any straggler {gain.text('.1%')}"
            evidence |= {"faster_without_any": float(gain), "faster_without_any_error": gain.error}
        sentence += condition(row) if "faster" in evidence else ""
        yield Finding(sentence, place=each.place, evidence=evidence)


@once
def _late(row: Row) -> list[Late]:
    return [each for ranks in peers(row.ranks) for each in _late_among(ranks)]


def _late_among(ranks: Sequence[RankSummary]) -> list[Late]:
    compared = [rank.id for rank in ranks if rank.local]
    groups: dict[tuple[str, str, str], list[Straggler]] = defaultdict(list)
    for when, together in groupby(all_stragglers(ranks), key=lambda each: each.when):
        found = list(together)
        nodes = nodes_of([each.rank.id for each in found], compared)
        for each in found:
            node = each.rank.id.node if each.rank.id.node in nodes else ""
            groups[when, node, "" if node else each.part].append(each)
    late = []
    for (_, node, _), slow in groups.items():
        first = slow[0].rank
        share = f", with {len(slow)} of its {count_of(compared, node)} ranks" if node else ""
        others_median = OF_STAGE if first.stages else OF_OTHERS
        late.append(Late(slow, reference_of(compared, first.id, others_median), share))
    return late


def _gain_without(row: Row, slow: Set[RankId]) -> Measured | None:
    return faster(row, lambda times: times.steps(slow))


def nodes_of(slow: Iterable[RankId], all_ids: Iterable[RankId]) -> dict[str, list[RankId]]:
    """The slow ones of each node that is slow: of it most are, two at least."""
    sizes = Counter(id.node for id in all_ids)
    found: dict[str, list[RankId]] = defaultdict(list)
    for id in slow:
        found[id.node].append(id)
    if len(sizes) < 2:
        return {}
    return {node: ids for node, ids in found.items() if len(ids) > 1 and len(ids) > sizes[node] / 2}


def count_of(ids: Iterable[RankId], node: str) -> int:
    return sum(id.node == node for id in ids)


def reference_of(ids: Sequence[RankId], slow: RankId, others_median: str = OF_OTHERS) -> str:
    """What a rank is compared with; of two, it is the other one."""
    others = [id for id in ids if id != slow]
    return others[0].label if len(others) == 1 else others_median
