"""The preflight of a node: the facts that should be the same on all nodes of a run, as text."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

# Variables that belong to a process or a job, and are not settings of a node.
_OWN = ("SLURM_", "MILABENCH_")
_DEVICES = "VISIBLE_DEVICES"  # they may have UUIDs; the number and the kind of GPUs are facts


def node_facts(provenance: Mapping[str, Any], visible: int) -> dict[str, str]:
    """The facts of a node, by what a sentence calls them; facts that are not known are left out.

    Args:
        provenance: of the node, as ``provenance.collect`` returns it.
        visible: how many GPUs the node offers, of which a run may use fewer; 0 for CPU slots.
    """
    host, accelerators = provenance["host"], provenance["accelerators"]
    gpus = list(accelerators["gpus"].values())
    facts = {
        "the driver": accelerators.get("driver"),
        "the number of GPUs": str(visible) if visible else None,
        "the GPU": _counted(gpu["product"] for gpu in gpus) if visible else None,
        "the memory of its GPUs": _memory(gpus) if visible else None,
        "the CPU": f"{host['cpu']['usable']} of {host['cpu']['count']} x {host['cpu']['brand']}",
        "the kernel": host["os"]["release"],
        "python": provenance["python"],
        "milabench": _version(provenance["milabench"]),
    }
    facts |= provenance["packages"]
    facts |= {name: provenance["pytorch"].get(name) for name in ("torch", "cuda", "hip", "nccl")}
    for name, value in provenance["environment"].items():
        if not name.startswith(_OWN) and not name.endswith(_DEVICES):
            facts[f"${name}"] = value
    return {name: str(value) for name, value in facts.items() if value}


def _counted(names: Iterable[str]) -> str:
    """The names, each once; how many of each, if they differ."""
    counts = Counter(names)
    if len(counts) == 1:
        return next(iter(counts))
    return " and ".join(f"{count} x {name}" for name, count in sorted(counts.items()))


def _memory(gpus: list[Mapping[str, Any]]) -> str:
    return _counted(f"{gpu['memory']['total']:.0f} MiB" for gpu in gpus)


def _version(milabench: Mapping[str, Any]) -> str:
    commit = (milabench.get("commit") or "")[:7]
    changed = " with changes" if milabench.get("dirty") else ""
    return f"{milabench['version']} ({commit}{changed})" if commit else str(milabench["version"])
