"""Findings about the memory of ranks: how near to its limit, what that cost, who told it."""

from collections.abc import Sequence

from ..memory import RankMemory, memories
from ..model import Row
from ..ranks.rank_summary import labels
from .finder import Finds, Found, finding

NEAR = 0.95  # of the memory of the device


@finding(
    "warning",
    "{place} came to {used:.1%} of the memory of its device "
    "({in_use:.0f} of {total:.0f} MiB)[; so did {others}]",
    "use smaller batches, or --activation checkpoint",
    section="ranks",
)
def near_memory_limit(row: Row) -> Finds:
    found = [rank for rank in memories(row) if rank.used >= NEAR]
    if found:
        worst = max(found, key=lambda rank: rank.used)
        yield Found(
            worst.id.label,
            evidence={"in_use": worst.in_use, "total": worst.state("total"), "ranks": len(found)},
            words={"used": worst.used, "others": _others(found, worst)},
        )


@finding(
    "warning",
    "{place} ran out of memory {retries:.0f} times in the measured steps: each time it waited for "
    "its device, gave back all memory that it kept, and asked anew[; so did {others}]",
    "use smaller batches, or PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
    section="ranks",
)
def allocator_retries(row: Row) -> Finds:
    found = [rank for rank in memories(row) if rank.state("retries") > 0]
    if found:
        worst = max(found, key=lambda rank: rank.state("retries"))
        yield Found(
            worst.id.label,
            evidence={"retries": worst.state("retries"), "ranks": len(found)},
            words={"others": _others(found, worst)},
        )


def _others(found: Sequence[RankMemory], worst: RankMemory) -> str:
    return labels({rank.id for rank in found} - {worst.id})


@finding("note", "peak_memory is what the program reserved: no monitor saw its device")
def memory_not_sampled(row: Row) -> Finds:
    if row.reserved >= 0 and row.peak_memory_source != "device":
        yield Found()


@finding(
    "note",
    "batch {batch} instead of {asked}: {gib:.0f} GiB",
    many="smaller batches, which fit the devices, in {count} benchmarks: {all}",
    each="{benchmark} {batch} instead of {asked} ({gib:.0f} GiB)",
)
def smaller_batch(row: Row) -> Finds:
    """Programs that took a smaller batch than they were given: ``--fit-batch``."""
    model = row.reported("model")
    if "asked_batch_size" in model:
        asked, batch = model["asked_batch_size"], model.get("batch_size")
        yield Found("", {"batch": batch, "asked": asked, "gib": model.get("device_gib", 0.0)})
