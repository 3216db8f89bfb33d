"""Findings about ranks that are slower than those they train with, and about nodes of such."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence, Set

from msgspec import Struct

from ...table import Measured
from ..model import Finding, Findings, Row
from ..once import once
from ..ranks.rank_summary import RankId, RankSummary, labels, peers
from ..ranks.stragglers import slowest_part, stragglers
from ..statistics.values import median
from .what_if import faster

OF_OTHERS = "the median of the others"
OF_STAGE = "the median of the others with its stages"


class Late(Struct, frozen=True):
    """Ranks that are slow in the same part of the step, or most ranks of a node."""

    slow: Sequence[RankSummary]  # the slowest first
    part: str
    typical: float  # ms of own work of those that are not slow
    reference: str  # what they are compared with
    share: str = ""  # of a node: how many of its ranks they are

    @property
    def place(self) -> str:
        """The slowest rank, or the node."""
        first = self.slow[0].id
        return first.node if self.share else first.label

    @property
    def local_ms(self) -> float:
        """The own work of the slowest rank, or the median of those of the node."""
        times = [rank.local_ms for rank in self.slow]
        return median(times) if self.share else times[0]

    @property
    def slower(self) -> float:
        """By which fraction its own work is longer."""
        return self.local_ms / self.typical - 1

    def sentence(self) -> str:
        """Which rank is slow, by how much, where, and which ranks wait."""
        against = f"{self.local_ms:.5g} against {self.typical:.5g} ms a step"
        is_median = self.reference in (OF_OTHERS, OF_STAGE)
        waits = "they wait" if is_median else f"{self.reference} waits"
        sentence = (
            f"{self.place} is {self.slower:.1%} slower than {self.reference} in its own "
            f"work{self.share} ({against}, mostly {self.part}): {waits} for it"
        )
        others = self.slow[1:]
        if others and not self.share:
            sentence += f", and for {labels(rank.id for rank in others)}"
        return sentence


def slow_ranks(row: Row) -> Findings:
    """The ranks that the others of their job wait for: one finding for each part that is slow."""
    yield from findings_of_ranks(row, of_nodes=False)


def findings_of_ranks(row: Row, *, of_nodes: bool) -> Findings:
    """The slow ranks of each slow node, or those of no such node; of pipelines, by their stages."""
    if any(process.record.device is not None for process in row.processes):
        return
    late = _late(row)
    everyone = {rank.id for each in late for rank in each.slow}
    for each in late:
        if bool(each.share) is not of_nodes:
            continue
        sentence = each.sentence()
        evidence: dict[str, object] = {
            "local_ms": each.local_ms,
            "median": each.typical,
            "slower": each.slower,
            "part": each.part,
            "ranks": {rank.id.label: rank.local_ms / each.typical - 1 for rank in each.slow},
        }
        gain = _gain_without(row, {rank.id for rank in each.slow})
        if gain is not None:
            which = "they were as fast" if len(each.slow) > 1 else "it were as fast"
            sentence += f"; if {which}, steps would be {gain.text('.1%')} faster"
            evidence |= {"faster": float(gain), "faster_error": gain.error}
        gain = _gain_without(row, everyone) if len(late) > 1 else None
        if gain is not None:
            sentence += f", and without any straggler {gain.text('.1%')}"
            evidence |= {"faster_without_any": float(gain), "faster_without_any_error": gain.error}
        yield Finding(sentence, place=each.place, evidence=evidence)


@once
def _late(row: Row) -> list[Late]:
    found: list[Late] = []
    for ranks in peers(row.ranks):
        found += _late_among(ranks)
    return found


def _late_among(ranks: Sequence[RankSummary]) -> list[Late]:
    """The slow ones of those that do the same work: by nodes, the others by their slow part."""
    found, typical = stragglers(ranks)
    compared = [rank.id for rank in ranks if rank.local]
    nodes = nodes_of([rank.id for rank in found], compared)
    groups: dict[tuple[str, str], list[RankSummary]] = defaultdict(list)
    for rank in found:
        node = rank.id.node if rank.id.node in nodes else ""
        groups[node, "" if node else slowest_part(rank, ranks)].append(rank)
    late = []
    for (node, part), slow in groups.items():
        first = slow[0]
        share = f", with {len(slow)} of its {count_of(compared, node)} ranks" if node else ""
        others_median = OF_STAGE if first.stages else OF_OTHERS
        reference = reference_of(compared, first.id, others_median)
        late.append(Late(slow, part or slowest_part(first, ranks), typical, reference, share))
    return late


def _gain_without(row: Row, slow: Set[RankId]) -> Measured | None:
    """By how much the job would be faster if the slow ranks were as fast as the others."""
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
    """How many of them are of a node."""
    return sum(id.node == node for id in ids)


def reference_of(ids: Sequence[RankId], slow: RankId, others_median: str = OF_OTHERS) -> str:
    """What a rank is compared with; of two, it is the other one."""
    others = [id for id in ids if id != slow]
    return others[0].label if len(others) == 1 else others_median
