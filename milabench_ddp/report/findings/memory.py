"""Findings about the memory of ranks: how near to its limit, and what that cost."""

from collections.abc import Sequence

from ..finding import Finding, Findings
from ..memory import RankMemory, memories
from ..model import Row
from ..ranks.rank_summary import labels

NEAR = 0.95  # of the memory of the device


def near_memory_limit(row: Row) -> Findings:
    """Ranks whose device had nearly no memory left."""
    found = [rank for rank in memories(row) if rank.used >= NEAR]
    if found:
        worst = max(found, key=lambda rank: rank.used)
        sentence = (
            f"{worst.id.label} came to {worst.used:.1%} of the memory of its device "
            f"({worst.in_use:.0f} of {worst.state('total'):.0f} MiB){_others(found, worst)}"
        )
        evidence = {"in_use": worst.in_use, "total": worst.state("total"), "ranks": len(found)}
        yield Finding(sentence, place=worst.id.label, evidence=evidence)


def allocator_retries(row: Row) -> Findings:
    """Ranks whose allocator found no memory in the measured steps, and made some free."""
    found = [rank for rank in memories(row) if rank.state("retries") > 0]
    if found:
        worst = max(found, key=lambda rank: rank.state("retries"))
        times = worst.state("retries")
        sentence = (
            f"{worst.id.label} ran out of memory {times:.0f} times in the measured steps: each "
            f"time it waited for its device, gave back all memory that it kept, and asked anew"
            f"{_others(found, worst)}"
        )
        evidence = {"retries": times, "ranks": len(found)}
        yield Finding(sentence, place=worst.id.label, evidence=evidence)


def _others(found: Sequence[RankMemory], worst: RankMemory) -> str:
    others = dict.fromkeys(rank.id for rank in found if rank.id != worst.id)
    return f"; so did {labels(others)}" if others else ""
