import re
from pathlib import Path

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.page.strip import MOST_PLACES, relative_speeds, strips
from tests.corpus.runs import slow_rank
from tests.support.result_files import config, end, rates, start, write


def of_devices(folder: Path, name: str, levels: list[float]) -> None:
    for device, level in enumerate(levels):
        of = config(name, device=device, tag=[name, f"D{device}"])
        write(folder, f"{name}.D{device}", of, start(), rates([level] * 40), end(0))


def shown(folder: Path) -> list[list[str]]:
    report = report_of([folder])
    (made,) = strips(report, {row.name: f"bench-{row.name}" for row in report.rows})
    rows = re.findall(r"<tr>(.*?)</tr>", made)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows]
    return [[re.sub(r"<[^>]*>", "", cell) for cell in row] for row in cells]


def test_a_slow_device_is_seen_in_its_column(tmp_path: Path) -> None:
    of_devices(tmp_path, "fast", [100.0, 100.5, 100.0, 99.6])
    of_devices(tmp_path, "slow", [100.0, 100.0, 93.0, 106.0])
    of_devices(tmp_path, "alone", [100.0])
    assert shown(tmp_path) == [
        ["benchmark", "device 0", "device 1", "device 2", "device 3"],
        ["slow", "=", "=", "-7%", "+6%"],
        ["fast", "=", "=", "=", "="],
    ]
    (row,) = [row for row in report_of([tmp_path]).rows if row.name == "slow"]
    assert list(relative_speeds(row).values()) == pytest.approx([0, 0, -0.07, 0.06])


def test_what_is_slower_has_the_colour_of_what_takes_longer(tmp_path: Path) -> None:
    of_devices(tmp_path, "slow", [100.0, 100.0, 93.0, 106.0])
    (made,) = strips(report_of([tmp_path]), {"slow": "bench-slow"})
    assert re.findall(r'<td class="number (\w+)">([^<]*)<', made) == [
        ("up3", "-7%"),
        ("down3", "+6%"),
    ]


def test_of_many_devices_those_that_differ_most_are_shown(tmp_path: Path) -> None:
    of_devices(tmp_path, "b", [100.0] * 20 + [80.0])
    head, row = shown(tmp_path)
    assert len(head) == 1 + MOST_PLACES
    assert (head[-1], row[-1]) == ("device 20", "-20%")


def test_a_slow_rank_is_seen_in_its_own_work(tmp_path: Path) -> None:
    slow_rank(tmp_path / "run")  # 79 instead of 65 ms
    head, row = shown(tmp_path / "run")
    assert dict(zip(head, row, strict=True)) == {
        "benchmark": "gpt-ddp", "rank 0": "=", "rank 1": "=", "rank 2": "-19%", "rank 3": "=",
    }  # fmt: skip
