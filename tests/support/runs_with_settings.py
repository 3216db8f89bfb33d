"""Made-up runs of a validation: nodes with their settings, and what was measured on them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from milabench_ddp.codec import write_record
from milabench_ddp.node_settings import Settings
from milabench_ddp.results.node_state import NodeState, NodeStatus
from milabench_ddp.results.run_dir import RunDir
from tests.support.result_files import config, end, line, rates, start, told, write, write_state
from tests.support.settings_tree import GPU, PlantedNode, Spoil

OK = end(0, outcome="ok", reason="")
TAGS = ["validate", "quick"]


def settings_of_node(folder: Path, *spoilt: Spoil) -> Settings:
    """Those of a healthy node, of which some are spoilt."""
    node = PlantedNode(folder)
    for spoil in spoilt:
        spoil(node)
    return node.settings()


def write_nodes(run: Path, nodes: Mapping[str, Settings], *benchmarks: str) -> None:
    """The state of a run of these benchmarks; a node without a name is a single host."""
    single = {"machine": {"settings": nodes[""]}} if "" in nodes else {}
    write_state(run, "ok", dict.fromkeys(benchmarks, "ok"), **single)
    for name, settings in nodes.items():
        if name:
            state = NodeState(name, NodeStatus.JOINED, settings=settings)
            write_record(RunDir(run).node_json(name), state)


def write_process(
    run: Path,
    name: str,
    node: str,
    *payloads: Mapping[str, Any],
    device: int | None = 0,
    gpu: Mapping[str, Any] = GPU,
    tags: Sequence[str] = TAGS,
    nodes: int = 1,
    each: Mapping[str, str] = {},
) -> None:
    """The file of a process on its device, or of a node's ranks, where ``device`` is None.

    ``each`` is ``{"each": "node"}`` where every node has a job of its own.
    """
    alone = device is not None
    words = [f"D{device}" if alone else "0", *([node] if node else [])]
    plan = {} if alone else {"plan": {"method": "njobs", "n": 1, **each}, "devices": list(range(8))}
    head = config(
        name, device=device, tag=[name, *words], tags=list(tags), num_machines=nodes, **plan
    )
    gpus = {str(index): dict(gpu) for index in range(8)}
    meta = {"node": node, "accelerators": {"arch": "cuda", "gpus": gpus}}
    tables = [told(**payload) for payload in payloads]
    observed = rates([10.0, 10.1, 9.9] * 4, units="GB/s")
    write(run, ".".join([name, *words]), head, line("meta", meta), start(), *tables, observed, OK)


def transfer(gb_s: float, path: str = "h2d pinned") -> dict[str, Any]:
    return {"bandwidth": {"path": path, "bytes": 2**26, "gb_s": gb_s}}


def collective(
    bus: float, factor: float, algorithm: str = "Ring", op: str = "all_reduce", **more: Any
) -> dict[str, Any]:
    """A row of the largest size."""
    row = {"op": op, "backend": "nccl", "dtype": "fp32", "bytes": 2**30, "right": True, **more}
    row |= {"bus_gb_s": bus, "algorithm_gb_s": bus / factor, "algorithm": algorithm}
    return {"comm": row}
