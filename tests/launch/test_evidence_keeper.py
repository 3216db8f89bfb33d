"""Evidence that a node keeps: of its first failures, and at the end; slow hosts hold up nothing."""

import threading
from pathlib import Path

import pytest

from milabench_ddp.launch import evidence_keeper
from milabench_ddp.launch.evidence_keeper import EvidenceKeeper
from milabench_ddp.machine import host_evidence
from milabench_ddp.results import evidence_archive
from milabench_ddp.results.run_dir import RunDir
from tests.support.archives import archived


@pytest.fixture
def keeper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EvidenceKeeper:
    def gather(occasion: str) -> dict[str, str]:
        return {"about.txt": f"{occasion}.\n"}

    monkeypatch.setattr(host_evidence, "gather", gather)
    return EvidenceKeeper(RunDir(tmp_path), "n1")


def test_the_first_failures_are_kept_and_what_comes_at_the_end(
    tmp_path: Path, keeper: EvidenceKeeper
) -> None:
    for name, state in zip("aabcd", ("hangs", *["has failed"] * 4), strict=True):
        keeper.take(name, state)
    keeper.keep("end", "at the end of the run", {"ticket.md": "a ticket"})
    assert keeper.problems == []
    expected = {"ticket.md": "a ticket", "end/about.txt": "n1, at the end of the run.\n"}
    for name, state in (("a", "hangs"), ("b", "has failed"), ("c", "has failed")):
        expected[f"{name}/about.txt"] = f"n1, {name} {state}.\n"
    assert archived(tmp_path, "n1") == expected


def test_what_the_host_cannot_tell_does_not_cost_the_rest(
    tmp_path: Path, keeper: EvidenceKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gather(occasion: str) -> dict[str, str]:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(host_evidence, "gather", gather)
    keeper.take("b", "hangs")
    keeper.keep("end", "at the end", {"ticket.md": "a ticket"})
    assert ["No space left on device" in each for each in keeper.problems] == [True, True]
    assert archived(tmp_path, "n1") == {"ticket.md": "a ticket"}


def test_a_disk_that_hangs_holds_up_nothing_for_long(
    keeper: EvidenceKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    freed = threading.Event()
    monkeypatch.setattr(evidence_archive, "add_evidence", lambda *_: freed.wait())
    monkeypatch.setattr(evidence_keeper, "_PATIENCE", 0.01)
    keeper.take("b", "hangs")
    assert keeper.problems == ["it has not been written in time"]
    freed.set()
