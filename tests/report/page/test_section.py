import os
import re
from html import unescape
from pathlib import Path

import pytest
from msgspec.structs import replace

from milabench_ddp.render.html import TEMPLATES
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.finding import Finding
from milabench_ddp.report.findings import FINDERS
from milabench_ddp.report.model import Report, Row
from milabench_ddp.report.page.section import section_of
from tests.support.result_files import config, end, job, rates, start, steps, write, write_state

WORK = {"forward": [8.0] * 40, "exposed_communication": [2.0] * 40}


def section(report: Report, name: str) -> str:
    (row,) = [row for row in report.rows if row.name == name]
    return unescape(section_of(report, row, "bench", 256, []).body)


PLACED = [name for name, finder in FINDERS.items() if finder.section]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A job that trains, and one that failed."""
    write_state(tmp_path, "failed", {"a": "ok", "b": "failed"})
    ranks = [steps(rank, [10.0] * 40, parts=WORK) for rank in range(2)]
    write(tmp_path, "a.0", job("a"), start(), rates([100.0] * 40, steps=1), *ranks, end(0))
    lines = 'Traceback (most recent call last):\n  File "m.py", line 1, in f\nValueError: <x>\n'
    failed = end(1, outcome="failed", reason="exit status 1")
    write(tmp_path, "b.D0", config("b", device=0), start(), failed, stderr=lines)
    (tmp_path / "a").mkdir(exist_ok=True)
    (tmp_path / "a" / "command.sh").write_text("exit\n")
    return tmp_path


@pytest.mark.parametrize("has_places", [True, False])
def test_each_finding_stands_in_it_once(run: Path, has_places: bool) -> None:
    """Beside what it is about, or at the top where the section does not show that."""
    found = tuple(Finding(f"this is {name}", "a", name=name) for name in (*PLACED, "other"))
    report = replace(report_of([run]), findings=found)
    if not has_places:
        report = replace(report, rows=(Row.unmeasured("a", 0, 1.0, {}),), failures=())
    body = section(report, "a")
    for finding in found:
        assert body.count(f">{finding.sentence}<") == 1
    order = [
        body.index(f">this is {name}<") for name in ("other", "unstable", "jitter", "slow_rank")
    ]
    assert (order == sorted(order)) or not has_places
    top = body.index('class="facts"')
    assert body.index(">this is other<") < top
    assert (body.index(">this is slow_rank<") < top) is not has_places


def test_each_place_is_that_of_a_finding() -> None:
    words = (TEMPLATES / "macros.html").read_text().partition("{% set words =")[2].partition("}")[0]
    assert {FINDERS[name].section for name in PLACED} == set(re.findall(r'"(\w+)":', words))


def test_what_failed_and_how_to_repeat_it(run: Path) -> None:
    report = report_of([run])
    failed = section(report, "b")
    folded = failed[failed.index("<details><summary>the last lines") :]
    assert "ValueError: <x>" in folded.partition("</details>")[0]
    script = os.fspath(run / "a" / "command.sh")
    assert f"<code>bash {script}</code><button" in section(report, "a")
    assert "<button" not in failed.rpartition("Failures")[2]
