"""The end of a validation: what a coordinator asks of the nodes that fail, on scripted nodes."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from milabench_ddp.dispatch import failing_nodes
from milabench_ddp.dispatch.nodes import NodeLost
from milabench_ddp.dispatch.protocol import EvidenceKept, KeepEvidence, StartLaunch
from milabench_ddp.report import assemble
from milabench_ddp.report.node_verdict import NodeVerdict, Word
from milabench_ddp.report.validation import judging
from tests.support.archives import archived
from tests.support.dispatch import plan
from tests.support.gpu_runs import SAMPLED, about, report_on
from tests.support.launches import benchmark
from tests.support.result_files import write_state
from tests.support.scripted_nodes import CoordinatorRun, Script

Make = Callable[..., CoordinatorRun]
TAGS = frozenset({"validate"})
BOTH = plan(benchmark("b", num_machines=2, tags=TAGS))
FAILING = ("n0", "n1")


@pytest.fixture
def fails(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes nodes fail, for a reason each."""

    def fails(*nodes: str) -> None:
        verdicts = tuple(NodeVerdict(it, Word.FAIL, (f"{it} is slow",)) for it in nodes)
        monkeypatch.setattr(assemble, "verdicts_of", lambda *_: verdicts)

    fails()
    return fails


def ends(run: CoordinatorRun, last: Callable[[], Script]) -> None:
    """Run one launch on all nodes to a good end, and then the last steps of a script."""
    write_state(run.dir.path, None, {})

    def script() -> Script:
        for node in run.nodes:
            node.ended(node.order(StartLaunch))
        yield
        yield from last()

    run.execute(script)


@pytest.mark.parametrize("odd", [0, 1])
def test_the_node_that_fails_keeps_its_evidence(
    coordinator: Make, fails: Callable[..., None], odd: int
) -> None:
    run = coordinator(BOTH)
    fails(FAILING[odd])

    def answer() -> Script:
        asked = run.nodes[odd].order(KeepEvidence)
        assert f"n{odd} is slow" in asked.files["ticket.md"]
        run.nodes[odd].say(EvidenceKept())
        yield

    ends(run, answer)
    assert run.nodes[1 - odd].orders == []
    assert not (run.dir.path / "evidence").exists()  # the node writes it
    assert run.told.messages == []


def test_without_a_failing_node_nothing_is_asked(
    coordinator: Make, fails: Callable[..., None]
) -> None:
    run = coordinator(BOTH)
    ends(run, lambda: iter(()))
    assert [node.orders for node in run.nodes] == [[], []]


def test_other_runs_are_left_alone(coordinator: Make, fails: Callable[..., None]) -> None:
    run = coordinator(plan(benchmark("b", num_machines=2)))
    fails(*FAILING)
    ends(run, lambda: iter(()))
    assert [node.orders for node in run.nodes] == [[], []]
    assert not (run.dir.path / "evidence").exists()


def test_what_a_node_cannot_keep_is_told(coordinator: Make, fails: Callable[..., None]) -> None:
    run = coordinator(BOTH)
    fails(*FAILING)

    def answer() -> Script:
        for node in run.nodes:
            node.order(KeepEvidence)
        run.nodes[0].say(EvidenceKept("the disk is full"))
        run.nodes[1].say(EvidenceKept())
        yield

    ends(run, answer)
    assert run.told.messages == ["the evidence of n0 is not complete: the disk is full"]


def test_of_nodes_that_are_gone_or_silent_others_keep_what_they_know(
    coordinator: Make, fails: Callable[..., None]
) -> None:
    run = coordinator(BOTH)
    fails("n0", "n1", "n9")  # the last has never joined

    def silent() -> Script:
        run.nodes[0].order(KeepEvidence)
        run.nodes[1].say(NodeLost("lost its connection"))
        yield

    before = run.clock.now
    ends(run, silent)
    assert run.clock.now - before < failing_nodes.PATIENCE + 10
    for name in ("n0", "n1", "n9"):
        kept = archived(run.dir.path, name)
        assert kept["about.txt"].startswith("The node is gone, or did not answer")
        assert f"{name} is slow" in kept["ticket.md"]


def test_a_report_that_fails_ends_nothing(
    coordinator: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = coordinator(BOTH)
    monkeypatch.setattr(assemble, "findings_of", lambda measured: 1 / 0)
    ends(run, lambda: iter(()))
    (message,) = run.told.messages
    assert message.startswith("no evidence is kept: milabench itself failed: ZeroDivisionError")
    assert run.statuses() == {"b": "ok"}


def test_a_run_that_is_stopped_is_not_held_up(
    coordinator: Make, fails: Callable[..., None]
) -> None:
    run = coordinator(BOTH)
    fails(*FAILING)

    def script() -> Script:
        starts = [node.order(StartLaunch) for node in run.nodes]
        run.requests.stop()
        yield
        for node, start in zip(run.nodes, starts, strict=True):
            node.orders.clear()
            node.ended(start, "cancelled")

    run.execute(script)
    assert [node.orders for node in run.nodes] == [[], []]
    assert not Path(run.dir.path / "evidence").exists()


def test_this_host_keeps_what_it_knows_of_a_gpu_that_is_lost(
    stub: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it is real but the driver: the monitor, the report's findings, and the tools."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    stub("1 xid 79")
    full = os.uname().nodename
    monkeypatch.setattr(judging, "told_text", lambda *_: f"{full}.example.org")
    report = report_on(tmp_path, tags=TAGS, b=SAMPLED)
    (fault,) = about(report, "device_fault")
    kept = archived(tmp_path, full.partition(".")[0])
    assert fault in kept["ticket.md"].replace("\\", "")
    assert "**Action** reboot\n" in kept["ticket.md"]
    assert kept["end/about.txt"].count("at the end of the run") == 1
    assert fault in " ".join(kept["report.txt"].split())
    assert "run/b/command.sh" in kept
