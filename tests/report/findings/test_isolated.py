"""Findings of isolations: bad nodes, pairs, numbers of nodes, and what was not explained."""

from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.codec import write_record
from milabench_ddp.events import Outcome
from milabench_ddp.plan.isolate import Condemned
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.finding import Finding, Severity
from milabench_ddp.results.isolation import IsolationRecord, ProbeRecord
from milabench_ddp.results.run_dir import RunDir
from tests.support.result_files import end, job, rates, start, write, write_state

NODES = tuple(f"n{number}" for number in range(5))
NAMES = ("isolated", "fails_by_number", "not_isolated")


def probe(place: int, *nodes: str, is_bad: bool | None = False, **changes: Any) -> ProbeRecord:
    outcome = Outcome.FAILED if is_bad else Outcome.OK
    values = {"lost": (), "outcome": outcome, "reason": "", "rate": None, **changes}
    return ProbeRecord(f"b/probe{place}", place + 1, nodes, is_bad=is_bad, **values)


PROBES = [probe(0, "n0", "n1"), probe(1, "n2", "n3", is_bad=True)]


def planted(folder: Path, name: str = "b", **changes: Any) -> None:
    """A run whose benchmark failed, with what its isolation recorded."""
    write(folder, f"{name}.0", job(name, nodes=5), start(), rates([1.0] * 9), end(1))
    write_state(folder, "failed", {name: "failed"})
    values: dict[str, Any] = {"whole_fails": True, "probes": PROBES, "is_open": False, **changes}
    write_record(RunDir(folder).isolation_json(name), IsolationRecord(NODES, **values))


def found(folder: Path) -> list[Finding]:
    return [each for each in report_of([folder]).findings if each.name in NAMES]


@pytest.mark.parametrize("bad", ["n0", "n4"])
def test_a_bad_node_fails(tmp_path: Path, bad: str) -> None:
    planted(tmp_path, bad=[Condemned((bad,), 4, 1)])
    (one,) = found(tmp_path)
    assert (one.name, one.nodes, one.fails, one.action) == ("isolated", (bad,), True, "isolate")
    assert one.severity is Severity.ERROR
    assert one.evidence["bad"] == 4
    assert one.evidence["good"] == 1
    assert one.sentence.startswith(f"b: {bad} failed in 4 of 5 probes")


def test_two_that_fail_only_together_fail_both(tmp_path: Path) -> None:
    planted(tmp_path, bad=[Condemned(("n1", "n4"), 3, 0)])
    (one,) = found(tmp_path)
    assert one.nodes == ("n1", "n4")
    assert one.fails
    assert "only together" in one.sentence


@pytest.mark.parametrize(
    ("scale", "said"),
    [
        (4, "any 4 of its nodes, but not on fewer"),
        (2, "any 2 of its nodes; fewer were not tried"),
        (1, "each of its nodes"),
    ],
)
def test_no_node_fails_because_of_their_number(tmp_path: Path, scale: int, said: str) -> None:
    planted(tmp_path, scale=scale)
    (one,) = found(tmp_path)
    assert (one.name, one.nodes, one.fails) == ("fails_by_number", (), False)
    assert one.evidence["from"] == scale
    assert said in one.sentence


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, "was not repeated in 2 probes"),
        ({"is_unexplained": True}, "neither one, nor two, nor any number"),
        ({"is_open": True}, "not all known after 2 probes: it has not ended"),
        (
            {"why_stopped": "the disk is full"},
            "it fails are not all known after 2 probes: the disk",
        ),
        ({"why_stopped": "no", "whole_fails": False}, "by which it is slow are not all known"),
    ],
)
def test_what_was_not_explained_is_said(tmp_path: Path, changes: dict[str, Any], told: str) -> None:
    planted(tmp_path, **changes)
    (one,) = found(tmp_path)
    assert (one.name, one.severity, one.fails) == ("not_isolated", Severity.WARNING, False)
    assert told in one.sentence


def test_what_goes_on_with_an_isolation_is_told_until_it_is_done(tmp_path: Path) -> None:
    planted(tmp_path, is_open=True)
    assert report_of([tmp_path]).runs[0].resume == f"milabench run --resume {tmp_path}"
    planted(tmp_path)
    assert report_of([tmp_path]).runs[0].resume == ""


def test_nothing_is_said_where_nothing_is_slow_or_nothing_was_probed(tmp_path: Path) -> None:
    planted(tmp_path / "fast", whole_fails=False)
    assert found(tmp_path / "fast") == []
    planted(tmp_path / "other")
    RunDir(tmp_path / "other").isolation_json("b").unlink()
    assert found(tmp_path / "other") == []


def test_a_damaged_record_is_told_and_the_rest_is_reported(tmp_path: Path) -> None:
    planted(tmp_path)
    RunDir(tmp_path).isolation_json("b").write_text('{"nodes": 1')
    report = report_of([tmp_path])
    assert found(tmp_path) == []
    assert any("isolation.json" in each.sentence for each in report.findings)
    assert report.rows
