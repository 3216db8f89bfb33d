"""Findings about Python's garbage collector."""

import math
from statistics import median

from ..finding import Finding, Findings
from ..model import Row
from ..process import counted
from ..ranks.rank_summary import labels, rank_id

MATTERS = 0.005  # of the time of a rank: then all ranks wait for it


def garbage_collections(row: Row) -> Findings:
    """Collections that take a share of the steps, because these keep much of what they make."""
    shares, full_ms, frozen_ms = {}, [], []
    for process in counted(row.processes):
        for number, rank in process.record.ranks.items():
            share = rank.collections.ms / max(math.fsum(rank.ms), 1e-9)
            if share >= MATTERS:
                shares[rank_id(process.record, number)] = share
                full_ms.append(rank.collections.full_ms or 0.0)
                frozen_ms.append(rank.collections.frozen_ms or 0.0)
    if not shares:
        return
    place, worst = labels(tuple(shares)), max(shares.values())
    most = "up to " if len(shares) > 1 else ""
    sentence = f"Python's garbage collector takes {most}{worst:.1%} of the time of {place}"
    full, after = median(full_ms), median(frozen_ms)
    if full:  # else it is not known
        sentence += f": a full collection takes {full:.3g} ms, and {after:.2g} ms after gc.freeze"
    evidence = {"share": worst, "full_ms": full, "frozen_ms": after}
    yield Finding(sentence, place=place, evidence=evidence)
