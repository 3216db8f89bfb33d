"""Findings about what programs ran with, beside what the run planned and recorded.

They are about variables, devices and versions. Programs that tell no devices have no such findings.
"""

from ...errors import shown_names
from ...grouping import grouped
from ...hazards import hazards_in
from ...hostlist import hostlist, shown_nodes
from ...results.records import Payload, Record, Run, machines_of, mapping_or_empty
from ..model import Row
from ..pooling import told_text
from ..ranks.rank_summary import rank_id
from .finder import Finds, Found, Measurements, finding

SHOWN = 3  # benchmarks that a sentence names
SOFTWARE = {"torch": "torch", "cuda": "CUDA", "nccl": "NCCL", "cudnn": "cuDNN"}


@finding(
    "warning",
    "{setting}[ on {shown}]: {effect} (in {names})",
    "unset it, unless it is what you measure",
)
def hazard(measured: Measurements) -> Finds:
    """Variables that are known to slow programs down, or to change what is measured."""
    found = []
    for run in measured.runs:
        for record in run.records:
            hazards = hazards_in(
                _environment(run, record),
                on_gpu=record.accelerators.get("arch") not in (None, "cpu"),
                nodes=machines_of(record.config),
            )
            found += [(each, record) for each in hazards]
    for (setting, effect), records in grouped(found).items():
        benchmarks = list(dict.fromkeys(record.name for record in records))
        nodes = list(dict.fromkeys(record.node for record in records if record.node))
        yield Found(
            hostlist(nodes),
            evidence={"setting": setting, "benchmarks": benchmarks, "nodes": nodes},
            words={
                "shown": shown_nodes(nodes),
                "effect": effect,
                "names": shown_names(benchmarks, SHOWN),
            },
        )


def _environment(run: Run, record: Record) -> Payload:
    if run.state is None:
        return {}
    of_node = mapping_or_empty(run.state.header.machine.get("environment"))
    if node := run.state.nodes.get(record.node):
        of_node = {key[1:]: value for key, value in node.facts.items() if key.startswith("$")}
    given = mapping_or_empty((record.start or {}).get("env"))
    return {name: str(value) for name, value in {**of_node, **given}.items()}


# Its numbers are those of another device.
@finding("error", "{ranks} {measured}", "look at what sets CUDA_VISIBLE_DEVICES")
def other_device(row: Row) -> Finds:
    """Ranks that measured another device than the plan's, or one device together."""
    wrong, using = [], []
    for process in row.processes:
        record = process.record
        for rank, told in record.devices.items():
            name = rank_id(record, rank).name
            label = f"{name} ({record.node})" if record.node else name
            if sentence := _other_device(record, told):
                wrong.append((sentence, label))
            if isinstance(told.get("uuid"), str):
                using.append(((process.launch, told["uuid"]), label))
    found = [(tuple(dict.fromkeys(ranks)), said) for said, ranks in grouped(wrong).items()]
    for (_, uuid), ranks in grouped(using).items():
        if len(names := tuple(dict.fromkeys(ranks))) > 1:
            found.append((names, f"measured the same GPU, {uuid}"))
    for names, sentence in dict.fromkeys(found):
        yield Found(
            ", ".join(names),
            {"ranks": list(names)},
            words={"ranks": shown_names(names), "measured": sentence},
        )


def _other_device(record: Record, told: Payload) -> str:
    """What a rank measured in place of its device; empty if it is the one of the plan."""
    gpus = list(map(record.gpu, record.indices or record.gpus))
    arch, kind, name = record.accelerators.get("arch"), told.get("kind"), told.get("name")
    if kind is not None and arch is not None and (kind == "cpu") != (arch == "cpu"):
        products = {str(gpu.get("product")) for gpu in gpus}
        planned = "CPU slots" if arch == "cpu" else shown_names(sorted(products)) or arch
        measured = "the CPU" if kind == "cpu" else name
        return f"measured {measured}, and the plan was {planned}: its numbers are of {measured}"
    uuid, known = told.get("uuid"), [str(gpu.get("uuid")) for gpu in gpus]
    # The UUID of an instance of MIG is not that of its GPU; voir's back-ends have none.
    comparable = known and all(each.startswith("GPU-") for each in known)
    if uuid is None or uuid in known or not comparable:
        return ""
    return f"measured {uuid}, and the plan was {shown_names(known)}, as the driver names them"


@finding("note", "it ran with {mine}, and the run recorded {other}")
def other_software(row: Row) -> Finds:
    """Versions that programs ran with, and that are not those that the run recorded.

    Packages add parts: 9.26.0.51 is cuDNN's 9.26.0.
    """
    found = []
    for process in row.processes:
        for told in process.record.devices.values():
            for key, name in SOFTWARE.items():
                mine = str(told.get(key) or "")
                other = told_text(process.record.meta, "pytorch", key)
                if mine and other and not f"{other}.".startswith(f"{mine}."):
                    found.append((f"{name} {mine}", other))
    for mine, other in dict.fromkeys(found):
        yield Found(words={"mine": mine, "other": other})
