"""The finding about communication that nothing hides, on planted jobs."""

from pathlib import Path

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.finding import Finding, Severity
from milabench_ddp.report.tables.main_table import main_table
from tests.support.result_files import told
from tests.support.trained_ranks import trained


def found(folder: Path, **settings: object) -> list[Finding]:
    trained(**settings).write(folder)  # type: ignore[arg-type]
    findings = report_of([folder]).findings
    return [each for each in findings if each.name == "exposed_communication"]


@pytest.mark.parametrize("slow", [{}, {2: {"backward": 1.25}}])
def test_a_fifth_of_a_step(tmp_path: Path, slow: dict[int, dict[str, float]]) -> None:
    """80 ms of own work, 90 with the slow rank, and 20 of communication."""
    (finding,) = found(tmp_path, noise=0.01, slow=slow)
    own = 90.0 if slow else 80.0
    assert finding.severity is Severity.WARNING
    waiting = 7.5 if slow else 0.0  # three of four ranks wait for 10 ms
    assert finding.evidence["communication_ms"] == pytest.approx(20.0, rel=0.02)
    assert finding.evidence["waiting_ms"] == pytest.approx(waiting, abs=1.0)  # noise is waited for
    assert finding.evidence["exposed_ms"] == pytest.approx(20 + waiting, abs=1.0)
    assert finding.evidence["faster"] == pytest.approx(20 / own, rel=0.02)
    assert 0 < finding.evidence["faster_error"] < 0.01
    assert "if all of it were hidden, steps would be 2" in finding.sentence


def test_what_it_calls_exposed_is_the_column(tmp_path: Path) -> None:
    trained(noise=0.01, slow={2: {"backward": 1.25}}).write(tmp_path)
    report = report_of([tmp_path])
    (finding,) = (each for each in report.findings if each.name == "exposed_communication")
    table = main_table(report.rows)
    place = [column.name for column in table.columns].index("exposed")
    column = table.columns[place].text(table.rows[0][place])
    assert f"{column} of each step is communication that nothing hides" in finding.sentence
    assert finding.evidence["share"] == pytest.approx(table.rows[0][place], rel=0.01)


def test_it_says_what_is_hidden(tmp_path: Path) -> None:
    trained(2).write(tmp_path, told(hidden_communication_ms=12.5))
    (finding,) = [
        each for each in report_of([tmp_path]).findings if each.name == "exposed_communication"
    ]
    assert "the backward pass hides 12.5 ms more" in finding.sentence


@pytest.mark.parametrize(
    "settings",
    [
        {"communication": 8.0},  # of 88 ms
        {"communication": 0.0, "slow": {1: {"backward": 2.0}}},  # the others wait for it
        {"communication": 40.0, "count": 8},  # too few steps
    ],
    ids=str,
)
def test_none(tmp_path: Path, settings: dict[str, object]) -> None:
    assert found(tmp_path, **settings) == []
