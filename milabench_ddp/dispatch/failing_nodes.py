"""Keeps what is known of the nodes that fail a validation, at its end, while they are there."""

import time
from collections.abc import Callable

from ..config.schema import VALIDATE
from ..errors import contained, reason_of
from ..events import Clock
from ..results.run_dir import RunDir
from .nodes import NodeLost, Nodes
from .protocol import EvidenceKept, KeepEvidence, Timeouts
from .run_context import RunPlan

PATIENCE = 30.0  # seconds for all nodes together; each of them takes 10 at most
_GONE = "The node is gone, or did not answer: this is what others know of it.\n"


def keep_evidence(
    run: RunDir,
    plan: RunPlan,
    nodes: Nodes,
    tell: Callable[[str], None],
    timeouts: Timeouts,
    clock: Clock = time.monotonic,
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
    from ..report.node_verdict import Word
    from ..report.tickets import evidence_of
    from ..results.evidence_archive import add_evidence
    from ..results.read_run import read_run

    report, found = report_of([run.path]), read_run(run.path)
    text, files = report_text(report), {}
    for verdict in report.verdicts:
        if verdict.verdict is Word.FAIL:
            # the files of a single host do not have its name in this run
            name = nodes[0].name if plan.nodes == 1 else verdict.node
            files[name] = evidence_of(verdict, found) | {"report.txt": text}
    asked = set()
    for rank in nodes.alive:
        handle = nodes[rank]
        if handle.name in files and handle.send(KeepEvidence(files[handle.name])):
            asked.add(handle.name)
    deadline = clock() + PATIENCE
    while asked and clock() < deadline:
        for handle, message in nodes.receive(timeouts.heartbeat):
            match message:
                case NodeLost():
                    asked.discard(handle.name)
                case EvidenceKept(problem) if handle.name in asked:
                    asked.discard(handle.name)
                    del files[handle.name]
                    if problem:
                        tell(f"the evidence of {handle.name} is not complete: {problem}")
    for name, known in files.items():
        with contained(lambda error: tell(reason_of(error))):
            add_evidence(run, name, known | {"about.txt": _GONE})
