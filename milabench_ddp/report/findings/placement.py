"""Findings about the cores that ranks run on: those of another NUMA node, and too few of them."""

import re
from collections import defaultdict

from ...errors import shown_names
from ...results.records import Payload, Record, is_finite
from ..finding import Finding, Findings
from ..model import Row
from ..process import counted
from ..ranks.rank_launch import LaunchKey
from ..ranks.rank_summary import rank_id

MOST_CORES = 1 << 16  # more are damage
_SPAN = r"\d{1,6}(?:-\d{1,6})?"
_LIST = re.compile(f"{_SPAN}(?:,{_SPAN})*")


def far_cores(row: Row) -> Findings:
    """Ranks that may use none of the cores next to their GPU.

    One that may use all cores is not bound, which is no mistake of a placement.
    """
    far: dict[str, str] = {}
    ranks = 0
    for process in counted(row.processes):
        for rank, told in process.record.devices.items():
            ranks += 1
            near, own = _near(process.record, told), told.get("cpus")
            cores = _cores(near), _cores(own)
            if all(cores) and cores[0].isdisjoint(cores[1]):
                label = rank_id(process.record, rank).label
                far.setdefault(label, f"{own}, and its GPU is next to {near}")
    if far:
        first, where = next(iter(far.items()))
        sentence = f"{first} runs on the cores {where}"
        if len(far) > 1:
            sentence += f" ({len(far)} of {ranks} ranks are like that)"
        yield Finding(sentence, place=shown_names(list(far)), evidence={"ranks": list(far)})


def _near(record: Record, told: Payload) -> object:
    """The cores next to the GPU that a rank told; None where the driver does not tell them."""
    gpus = record.accelerators.get("gpus")
    for index in gpus if isinstance(gpus, dict) else ():
        gpu = record.gpu(index)
        if gpu.get("uuid") is not None and gpu.get("uuid") == told.get("uuid"):
            return gpu.get("cpus")
    return None


def oversubscribed(row: Row) -> Findings:
    """Nodes on which the ranks of a launch have more threads than cores."""
    found: dict[tuple[LaunchKey, str], list[Payload]] = defaultdict(list)
    for process in row.processes:
        key = process.launch, process.record.node
        found[key] += process.record.devices.values()
    sentences: dict[str, Finding] = {}
    for (_, node), ranks in found.items():
        cores: set[int] = set().union(*(_cores(told.get("cpus")) for told in ranks))
        threads = [told.get("threads") for told in ranks]
        known = [int(count) for count in threads if is_finite(count) and count >= 1]
        if cores and len(known) == len(ranks) and sum(known) > len(cores):
            where = f" of {node}" if node else ""
            sentence = (
                f"its {len(ranks)} ranks compute with {sum(known)} threads on {len(cores)} "
                f"cores{where}"
            )
            evidence = {"ranks": len(ranks), "threads": sum(known), "cores": len(cores)}
            sentences[sentence] = Finding(sentence, place=node, evidence=evidence)
    yield from sentences.values()


def _cores(text: object) -> set[int]:
    """The cores in ``0-3,8``; empty if that is something else."""
    if not isinstance(text, str) or not _LIST.fullmatch(text):
        return set()
    cores: set[int] = set()
    for span in text.split(","):
        first, _, last = span.partition("-")
        cores |= set(range(int(first), min(int(last or first), MOST_CORES) + 1))
    return cores
