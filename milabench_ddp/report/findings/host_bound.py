"""Findings about the loop that a program measured: what set its pace, what its compiler found."""

from ..finding import Finding, Findings
from ..model import Row
from ..process import counted
from ..statistics.values import NAN, mean
from .finder import in_some_of

IDLE = "device_idle"  # fraction of a step in which a device waits for its host or for data
MOST_IDLE = 0.1
DATA = "data"  # the part of a step in which a rank waits for its next batch
MOST_WAITING = 0.1
FEWEST_STEPS = 10


def data_bound(row: Row) -> Findings:
    """A benchmark that measures its loaders: ranks wait for data for a tenth of a step or more.

    If one rank alone waits, the mean over ranks is small: that is a slow rank.
    """
    share = _waiting(row)
    if share > MOST_WAITING:
        waiting = {rank.id.label: rank.shares[DATA] for rank in row.ranks if DATA in rank.shares}
        sentence = f"data-bound: its ranks wait for data in {share:.0%} of a step"
        evidence = {"share": share, "most": max(waiting.values())}
        yield Finding(sentence, place=max(waiting, key=waiting.__getitem__), evidence=evidence)


def _waiting(row: Row) -> float:
    if any(rank.steps < FEWEST_STEPS for rank in row.ranks):
        return NAN
    return mean(rank.shares.get(DATA) for rank in row.ranks)


def host_bound(row: Row) -> Findings:
    """A benchmark that measures its host: its devices wait for more than a tenth of the time.

    Where they wait for data, that is ``data_bound``.
    """
    told = row.told.get(IDLE)
    waiting = _waiting(row)
    for_data = waiting if waiting > MOST_WAITING else 0.0
    if told is not None and told.mean - for_data > MOST_IDLE:
        sentence = (
            f"host-bound: its devices idle {told.mean:.0%} of a step, until the host has work"
        )
        yield Finding(sentence, evidence={IDLE: told.mean, "most": max(told.values)})


def warm_cache(row: Row) -> Findings:
    """Models whose compiled code was on disk already, so that they were not compiled anew."""
    found = []
    for process in counted(row.processes):
        cache = str(process.record.reported("model").get("compile_cache", ""))
        if cache in ("warm", "partly warm"):
            found.append(cache)
    if found:
        where = in_some_of(len(found), len(row.processes))
        sentence = f"its compiler's cache was {found[0]}: compile_s is not that of a first run"
        yield Finding(sentence + where, evidence={"processes": len(found)})


def misaligned_widths(row: Row) -> Findings:
    """Widths of heads and shards that the kernels of matrix products and attention do not like."""
    odd = row.reported("model").get("misaligned")
    if odd:
        sentence = f"widths are not multiples of 8, so kernels pad them or are slower: {odd}"
        yield Finding(sentence, evidence={"widths": odd})
