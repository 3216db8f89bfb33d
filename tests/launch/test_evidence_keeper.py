"""Evidence that a node keeps: of its first failures, and at the end; slow hosts hold up nothing."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from milabench_ddp.launch import evidence_keeper
from milabench_ddp.launch.evidence_keeper import EvidenceKeeper
from milabench_ddp.machine import host_evidence
from milabench_ddp.results import evidence_archive
from milabench_ddp.results.run_dir import RunDir
from tests.support.archives import archived

Gather = Callable[[str, Path], dict[str, str]]


@pytest.fixture
def gathers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The occasions at which this host is asked."""
    occasions: list[str] = []

    def gather(occasion: str, root: Path) -> dict[str, str]:
        occasions.append(occasion)
        return {"about.txt": f"{occasion}.\n"}

    monkeypatch.setattr(host_evidence, "gather", gather)
    return occasions


def test_the_first_failures_are_kept_and_what_comes_at_the_end(
    tmp_path: Path, gathers: list[str]
) -> None:
    keeper = EvidenceKeeper(RunDir(tmp_path), "n1")
    for name in ("a", "a", "b", "c", "d"):
        keeper.take(name, f"{name} has failed", {"x.stacks": f"of {name}"})
    assert keeper.keep({"ticket.md": "a ticket"}) == ""
    assert gathers == ["n1, a has failed", "n1, b has failed", "n1, c has failed"]
    expected = {"ticket.md": "a ticket"}
    for name in "abc":
        expected |= {f"{name}/x.stacks": f"of {name}"}
        expected |= {f"{name}/about.txt": f"n1, {name} has failed.\n"}
    assert archived(tmp_path, "n1") == expected


def test_of_a_node_on_which_nothing_failed_it_is_taken_at_the_end(
    tmp_path: Path, gathers: list[str]
) -> None:
    assert EvidenceKeeper(RunDir(tmp_path), "n1").keep({"ticket.md": "slow"}) == ""
    about = "n1, at the end of the run.\n"
    assert archived(tmp_path, "n1") == {"ticket.md": "slow", "end/about.txt": about}


def test_what_the_host_cannot_tell_does_not_cost_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gather(occasion: str, root: Path) -> dict[str, str]:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(host_evidence, "gather", gather)
    keeper = EvidenceKeeper(RunDir(tmp_path), "n1")
    keeper.take("b", "b hangs", {"b.D0.stacks": "where it hangs"})
    said = keeper.keep({"ticket.md": "a ticket"})
    assert "No space left on device" in said
    assert archived(tmp_path, "n1") == {"b/b.D0.stacks": "where it hangs", "ticket.md": "a ticket"}


def test_a_disk_that_hangs_holds_up_nothing_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gathers: list[str]
) -> None:
    hangs, freed = threading.Event(), threading.Event()

    def write(*_: object) -> None:
        hangs.set()
        freed.wait()

    monkeypatch.setattr(evidence_archive, "add_evidence", write)
    monkeypatch.setattr(evidence_keeper, "_PATIENCE", 0.01)
    keeper = EvidenceKeeper(RunDir(tmp_path), "n1")
    keeper.take("b", "b hangs", {})
    assert hangs.wait(60.0)
    keeper.wait()
    keeper.take("c", "c hangs", {})
    assert keeper.keep({"ticket.md": ""}) == "it has not been written in time"
    assert gathers == ["n1, b hangs"]
    freed.set()
