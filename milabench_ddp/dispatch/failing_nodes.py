"""Keeps what is known of the nodes that fail a validation, at its end, while they are there."""

import time
from collections.abc import Callable

from ..config.schema import VALIDATE
from ..errors import contained, reason_of
from ..results.run_dir import RunDir
from .nodes import NodeHandle, NodeLost, Nodes
from .protocol import EvidenceKept, KeepEvidence, Timeouts
from .run_context import RunPlan

PATIENCE = 30.0  # seconds for all nodes together; each of them takes 26 at most
_GONE = "The node is gone, or did not answer: this is what others know of it.\n"


def keep_evidence(
    run: RunDir,
    plan: RunPlan,
    nodes: Nodes,
    tell: Callable[[str], None],
    timeouts: Timeouts,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Write the archive of each node that fails; of one that is gone, what others know of it.

    Args:
        tell: gets a sentence about what could not be kept.
    """
    if not any(VALIDATE in benchmark.tags for benchmark in plan.benchmarks):
        return
    # the report and the archives are loaded at the end of a validation alone
    from ..report.assemble import report_of
    from ..report.faces import report_text
    from ..report.tickets import evidence_of, failing
    from ..results.evidence_archive import add_evidence
    from ..results.read_run import read_run

    report = report_of([run.path])
    handles = {nodes[rank].name: nodes[rank] for rank in nodes.alive}
    asked: dict[int, NodeHandle] = {}
    files = {}
    failed = failing(report)
    whole = {"report.txt": report_text(report)} if failed else {}
    found = read_run(run.path)
    for node in failed:
        name = node or next(iter(handles))
        files[name] = whole | evidence_of(node, name, report, found)
        handle = handles.get(name)
        if handle is not None and handle.send(KeepEvidence(files[name])):
            asked[handle.rank] = handle
    deadline = clock() + PATIENCE
    while asked and clock() < deadline:
        for handle, message in nodes.receive(timeouts.heartbeat):
            match message:
                case NodeLost():
                    asked.pop(handle.rank, None)
                case EvidenceKept(problem) if handle.rank in asked:
                    del asked[handle.rank], files[handle.name]
                    if problem:
                        tell(f"the evidence of {handle.name} is not complete: {problem}")
    for name, known in files.items():
        with contained(lambda error: tell(reason_of(error))):
            add_evidence(run, name, known | {"about.txt": _GONE})
