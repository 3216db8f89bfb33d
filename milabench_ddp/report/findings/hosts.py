"""Findings about the hosts that benchmarks ran on."""

from collections import defaultdict

from ...samples import HostSample
from ...table import without_exponent
from ..finding import Finding, Findings
from ..model import Row
from ..statistics.values import largest, mean

BUSY = 0.95  # of the cores
FULL = 0.95  # of the memory
SWAPS = 1.0  # MB/s


def busy_hosts(row: Row) -> Findings:
    """Hosts that had no core, or no memory, to spare in the measured steps.

    Where the benchmark measures the cores themselves, they are meant to be busy.
    """
    nodes: dict[str, list[HostSample]] = defaultdict(list)
    for host in row.hosts:
        nodes[host.node] += host.measured
    for node, samples in sorted(nodes.items()):
        cores = mean(each.cpu for each in samples)
        memory = largest(each.full for each in samples)
        swapped = mean(each.swapped for each in samples)
        told = []
        if cores >= BUSY and row.config.get("arch", "cpu") != "cpu":
            told.append(f"its cores were {cores:.0%} busy")
        if memory >= FULL:
            told.append(f"its memory was {memory:.0%} full")
        if swapped >= SWAPS:
            told.append(f"it swapped {without_exponent(swapped, '.3g')} MB/s")
        if told:
            where = f" on {node}" if node else ""
            sentence = f"the host had nothing to spare{where}: {', '.join(told)}"
            evidence = {"cores": cores, "memory": memory, "swapped_mb_s": swapped}
            yield Finding(sentence, place=node, evidence=evidence)
