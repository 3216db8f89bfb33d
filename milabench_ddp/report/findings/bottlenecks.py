"""Findings about what keeps devices waiting: data, cores, hosts, late ranks, compilers."""

import re

from ...errors import shown_names
from ...events import Status
from ...grouping import grouped
from ...results.records import Payload, Record, is_finite, mapping_or_empty
from ...samples import DeviceSample
from ...table import without_exponent
from ..clocks import SETTING, slowdowns
from ..fields import share_of
from ..model import Row
from ..monitored import inside, label_of, own_samples
from ..ranks.rank_summary import labels, rank_id
from ..ranks.startup import late_ranks, startups
from ..statistics.values import NAN, known, largest, mean
from .finder import Finds, Found, Looked, finding, in_some_of

IDLE = "device_idle"  # fraction of a step in which a device waits for its host or for data
MOST_IDLE = 0.1
DATA = "data"  # the part of a step in which a rank waits for its next batch
MOST_WAITING = 0.1
FEWEST_STEPS = 10
LEAST_LOAD = 0.01  # milabench's: below it the device did nothing
FEWEST_SAMPLES = 5
BUSY = 0.95  # of the cores of a host
FULL = 0.95  # of its memory
SWAPS = 1.0  # MB/s
_SPAN = r"\d{1,6}(?:-\d{1,6})?"
_LIST = re.compile(f"{_SPAN}(?:,{_SPAN})*")


@finding(
    "warning",
    "its ranks wait for data in {share:.0%} of a step",
    "give it more loader workers, or faster storage",
    section="ledger",
    is_traced=True,
    costs="share",
    looks_for="waits for data",
    among=lambda row: sum(DATA in rank.shares for rank in row.ranks),
)
def data_bound(row: Row) -> Finds:
    """A benchmark that measures its loaders: ranks wait for data for a tenth of a step or more.

    If one rank alone waits, the mean over ranks is small: that is a slow rank.
    """
    share = _waiting(row)
    if share > MOST_WAITING:
        waiting = {rank.id.label: rank.shares[DATA] for rank in row.ranks if DATA in rank.shares}
        worst = max(waiting, key=waiting.__getitem__)
        yield Found(worst, {"share": share, "most": waiting[worst]})


def _waiting(row: Row) -> float:
    if any(rank.steps < FEWEST_STEPS for rank in row.ranks):
        return NAN
    return share_of(row, DATA)


def _devices_sampled(row: Row) -> Looked:
    sampled = _measured_samples(row).values()
    return sum(len(known(each.load for each in found)) >= FEWEST_SAMPLES for found in sampled)


@finding(
    "warning",
    "{place} was busy in {load:.1%} of the time, less than {least:.0%}",
    "give it more work, or leave it out",
    layer="usage",
    section="devices",
    many="{findings} times a device was used too little, in {count} benchmarks: {all}",
    each="{benchmark}[ {load:.0%}][ {memory:.0%} of its memory]",
    looks_for="idle devices",
    among=_devices_sampled,
)
def idle_device(row: Row) -> Finds:
    """Devices below the load, or the memory, that the benchmark asks for.

    ``validation.usage`` asks; without it a device of no load at all counts, and no memory.
    """
    usage = mapping_or_empty(mapping_or_empty(row.config.get("validation")).get("usage"))
    least_load, least_memory = usage.get("gpu_load_threshold"), usage.get("gpu_mem_threshold")
    least_load = least_load if is_finite(least_load) else LEAST_LOAD
    for label, samples in _measured_samples(row).items():
        loads = known(sample.load for sample in samples)
        load = mean(loads)
        if len(loads) >= FEWEST_SAMPLES and load < least_load:
            yield Found(label, {"load": load, "least": least_load})
        memories = [sample.memory for sample in samples if sample.memory]
        full = largest(used / total for used, total in memories if total > 0)
        if is_finite(least_memory) and full < least_memory:
            sentence = (
                "{place} had at most {memory:.1%} of its memory in use, less than {least:.0%}"
            )
            yield Found(label, {"memory": full, "least": least_memory}, sentence=sentence)


def _measured_samples(row: Row) -> dict[str, list[DeviceSample]]:
    """The samples of each device while it was measured; of a program that never says when, all.

    One that runs still, or did not end well, may not have begun.
    """
    found = []
    for process in row.counted:
        record = process.record
        if process.window is None and process.status != Status.OK:
            continue
        for device, samples in own_samples(record):
            label = label_of(device, record.node)
            found += [(label, each) for each in inside(process.window, samples)]
    return grouped(found)


@finding(
    "warning",
    "{rank} runs on the cores {own}, and its GPU is next to {near}[ ({several} of {count} ranks "
    "are like that)]",
    "bind it to the cores of its NUMA node (`nvidia-smi topo -m`)",
)
def far_cores(row: Row) -> Finds:
    """Ranks that may use none of the cores next to their GPU.

    One that may use all cores is not bound: its placement is not wrong.
    """
    far: dict[str, tuple[object, object]] = {}
    ranks = 0
    for process in row.counted:
        for rank, told in process.record.devices.items():
            ranks += 1
            near, own = _near(process.record, told), told.get("cpus")
            if _cores(near) and _cores(own) and _cores(near).isdisjoint(_cores(own)):
                far.setdefault(rank_id(process.record, rank).label, (own, near))
    if far:
        names = list(far)
        own, near = far[names[0]]
        yield Found(
            shown_names(names),
            {"ranks": names},
            words={
                "rank": names[0],
                "own": own,
                "near": near,
                "count": ranks,
                "several": len(far) if len(far) > 1 else None,
            },
        )


def _near(record: Record, told: Payload) -> object:
    for gpu in record.gpus.values():
        if gpu.get("uuid") is not None and gpu.get("uuid") == told.get("uuid"):
            return gpu.get("cpus")
    return None


def _cores(text: object) -> set[int]:
    """The cores in ``0-3,8``; empty if that is something else."""
    cores: set[int] = set()
    if isinstance(text, str) and _LIST.fullmatch(text):
        for span in text.split(","):
            first, _, last = span.partition("-")
            cores |= set(range(int(first), int(last or first) + 1))
    return cores


@finding(
    "warning",
    "its {ranks} ranks compute with {threads} threads on {cores} cores[ of {place}]",
    "lower OMP_NUM_THREADS, or start fewer ranks on a node",
)
def oversubscribed(row: Row) -> Finds:
    """Nodes on which the ranks of a launch have more threads than cores."""
    ranks = grouped(
        ((process.launch, process.record.node), told)
        for process in row.processes
        for told in process.record.devices.values()
    )
    found = {}
    for (_, node), told in ranks.items():
        cores = set[int]().union(*(_cores(each.get("cpus")) for each in told))
        counts = known(each.get("threads") for each in told)
        threads = [int(count) for count in counts if count >= 1]
        if len(threads) == len(told) and sum(threads) > len(cores) > 0:
            evidence = {"ranks": len(told), "threads": sum(threads), "cores": len(cores)}
            found[node, *evidence.values()] = Found(node, evidence)
    yield from found.values()


@finding(
    "warning",
    "its devices idle {device_idle:.0%} of a step, waiting for Python",
    "give it larger batches (--batch-size), or compile it (--compile inductor)",
    section="ledger",
    is_traced=True,
    costs=IDLE,
)
def host_bound(row: Row) -> Finds:
    """A benchmark that measures its host: its devices wait for more than a tenth of the time.

    Where they wait for data, that is ``data_bound``. The step that shows how fast they can be comes
    after a rest: what a cap of power or heat takes from the clocks of the others is not idle.
    """
    told = row.told.get(IDLE)
    waiting = _waiting(row)
    for_data = waiting if waiting > MOST_WAITING else 0.0
    held = [each for each in slowdowns(row.measuring) if each.cause != SETTING]
    slower = largest(each.share * (1 - each.clock / each.usual) for each in held)
    for_clocks = slower if slower > 0 else 0.0
    if told is not None and told.mean - for_data - for_clocks > MOST_IDLE:
        yield Found("", {IDLE: told.mean, "most": max(told.values)})


@finding(
    "warning",
    "the host had nothing to spare[ on {place}]: {told}",
    "see what else runs there (`top`), and give it fewer loader workers",
)
def busy_host(row: Row) -> Finds:
    """Hosts that had no core, or no memory, to spare in the measured steps.

    Where the benchmark measures the cores themselves, they are meant to be busy.
    """
    for node, samples in row.hosts.items():
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
            yield Found(
                node,
                evidence={"cores": cores, "memory": memory, "swapped_mb_s": swapped},
                words={"told": ", ".join(told)},
            )


@finding(
    "note",
    "{place} came {late_s:.1f} s later to the process group than the median rank: the others "
    "waited",
    "see --table startup",
    section="ranks",
)
def launch_skew(row: Row) -> Finds:
    """Ranks that came later than the others to their process group, in the worst launch."""
    found = [late_ranks(startups(process.record)) for process in row.counted]
    worst = max((late for late in found if late), key=lambda late: late.seconds, default=None)
    if worst is not None:
        yield Found(
            labels(worst.ids),
            evidence={"late_s": worst.seconds, "ranks": [id.label for id in worst.ids]},
        )


@finding(
    "note", "{part} of its code was compiled before: compile_s is not that of a first run{where}"
)
def warm_cache(row: Row) -> Finds:
    """Models whose compiled code was on disk already, so that they were not compiled anew."""
    told = [process.record.reported("model").get("compile_cache") for process in row.counted]
    found = [cache for cache in told if cache in ("warm", "partly warm")]
    if found:
        part = "all" if found[0] == "warm" else "a part"
        yield Found(
            "",
            {"processes": len(found)},
            words={"part": part, "where": in_some_of(found, row.processes)},
        )
