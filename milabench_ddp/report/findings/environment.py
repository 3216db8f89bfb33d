"""Findings about the environment that programs ran in."""

from collections import defaultdict

from ...errors import shown_names
from ...hazards import hazards_in
from ...results.records import Payload, Record, Run, is_finite, mapping_or_empty
from ..finding import Finding, Findings
from .finder import Measurements

_SHOWN = 3  # benchmarks that a sentence names


def hazards(measured: Measurements) -> Findings:
    """Variables that are known to slow programs down, or to change what is measured."""
    names: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    nodes: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for run in measured.runs:
        for record in run.records:
            machines = record.config.get("num_machines")
            found = hazards_in(
                _environment(run, record),
                on_gpu=record.accelerators.get("arch") not in (None, "cpu"),
                nodes=int(machines) if is_finite(machines) else 1,
            )
            for hazard in found:
                names[hazard][record.name] = None
                nodes[hazard][record.node] = None
    for (setting, effect), benchmarks in names.items():
        known = [node for node in nodes[setting, effect] if node]
        where = f" on {shown_names(known)}" if known else ""
        shown = shown_names(list(benchmarks), _SHOWN)
        sentence = f"{setting}{where}: {effect} (in {shown})"
        evidence = {"setting": setting, "benchmarks": list(benchmarks), "nodes": known}
        yield Finding(sentence, place=", ".join(known), evidence=evidence)


def _environment(run: Run, record: Record) -> Payload:
    if run.state is None:
        return {}
    if record.node in run.state.nodes:
        facts = run.state.nodes[record.node].facts.items()
        of_node = {name[1:]: value for name, value in facts if name.startswith("$")}
    else:
        of_node = dict(mapping_or_empty(run.state.header.machine.get("environment")))
    given = mapping_or_empty((record.start or {}).get("env"))
    return {name: str(value) for name, value in {**of_node, **given}.items()}
