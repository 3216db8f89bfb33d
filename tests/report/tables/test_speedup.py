import math
from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.faces import report_text
from milabench_ddp.report.tables.speedup import speedup
from milabench_ddp.table import Measured
from tests.support.result_files import config, end, job, rates, start, write

OK = end(0, outcome="ok", reason="")
SPEEDS = {"m-none": 100.0, "m-eager": 90.0, "m-inductor": 130.0}


def measure(folder: Path, speeds: dict[str, float], launches: int = 1, base_end: str = OK) -> Path:
    """A run of benchmarks that are compared with ``m-none``, the first."""
    for name, speed in speeds.items():
        more = {} if name == "m-none" else {"relative_to": "m-none"}
        for repeat in range(launches):
            tag = [name, f"R{repeat}", "0"]
            values = rates([speed * (1 + 0.01 * repeat)] * 9)
            ended = base_end if name == "m-none" else OK
            write(folder, ".".join(tag), job(name, tag=tag, **more), start(), values, ended)
    return folder


def ratios(folder: Path) -> dict[str, float]:
    return {row[0]: row[2] for row in speedup(report_of([folder]).rows).rows}


def test_planted_speeds(tmp_path: Path) -> None:
    run = measure(tmp_path, SPEEDS)
    assert ratios(run) == pytest.approx({"m-eager": 0.9, "m-inductor": 1.3})
    text = report_text(report_of([run]))
    table = text[text.index("Speed-up") :].splitlines()[2:5]
    assert [line.split("|") for line in table] == [
        ["benchmark  ", " relative to ", " speed-up"],
        ["m-eager    ", " m-none      ", "    0.900"],  # a single launch has no interval
        ["m-inductor ", " m-none      ", "    1.300"],
    ]


def test_five_launches_have_an_interval(tmp_path: Path) -> None:
    found = ratios(measure(tmp_path, SPEEDS, launches=5))
    ratio = found["m-inductor"]
    assert isinstance(ratio, Measured)
    assert ratio == pytest.approx(1.3)
    assert 0.01 < ratio.error < 0.06


def test_what_has_no_base(tmp_path: Path) -> None:
    failed = measure(tmp_path / "failed", SPEEDS, base_end=end(1, outcome="failed", reason="no"))
    absent = measure(tmp_path / "absent", {"m-eager": 90.0})
    for run in (failed, absent):
        assert all(map(math.isnan, ratios(run).values()))
    write(absent, "m-none.D0", config("m-none", device=0), start(), rates([1.0], units="x/s"), OK)
    assert math.isnan(ratios(absent)["m-eager"])


@pytest.mark.parametrize(
    ("base", "why"),
    [
        ({}, ""),
        ({"code": 1}, "m failed, or measured nothing"),
        ({"unit": "tokens/s"}, "m is in tokens/s, not in items/s"),
        ({"preset": "small"}, "m has the preset small, not full"),
        (None, "m was not run"),
    ],
)
def test_why_there_is_no_ratio(tmp_path: Path, base: dict[str, Any] | None, why: str) -> None:
    settings = {"preset": "full"}
    compared = job("c", relative_to="m", **settings)
    write(tmp_path, "c.0", compared, start(), rates([2.0] * 9), end())
    if base is not None:
        settings["preset"] = base.get("preset", "full")
        values = rates([1.0] * 9).replace("items/s", base.get("unit", "items/s"))
        write(tmp_path, "m.0", job("m", **settings), start(), values, end(base.get("code", 0)))
    found = speedup(report_of([tmp_path]).rows)
    assert found.notes == ((f"(c has no speed-up: {why})",) if why else ())
    assert math.isnan(found.rows[0][2]) == bool(why)


def test_nothing_is_faster_than_itself(tmp_path: Path) -> None:
    write(tmp_path, "m.0", job("m", relative_to="m"), start(), rates([1.0] * 9), end())
    found = speedup(report_of([tmp_path]).rows)
    assert found.notes == ("(m has no speed-up: it is relative to itself)",)


def test_a_suite_that_asks_for_nothing_has_no_table(tmp_path: Path) -> None:
    write(tmp_path, "b.0", job("b"), start(), rates([1.0] * 9), OK)
    assert not speedup(report_of([tmp_path]).rows)
