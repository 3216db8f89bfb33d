"""Our runs, read as milabench's own summary reads its runs: what it takes for granted is there.

It takes each line for an event, one start and one end for granted, adds up what stands under
``data`` by its keys, and asks each sample of a device for its memory and load.
"""

import json
import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.compat import statistics_of
from tests.support.result_files import RECORDED

FIRST = RECORDED / "first"


def read(path: Path) -> dict[str, Any]:
    """A file as milabench reads it: what it asks for without a default is asked for here, too."""
    seen: dict[str, list[Any]] = defaultdict(list)
    for line in path.read_text().splitlines():
        event = json.loads(line)
        assert event.keys() >= {"event", "data", "pipe"}
        kind, data = event["event"], event["data"]
        if kind != "data":
            seen[event["pipe"] if kind == "line" else kind].append(data)
            continue
        task = dict(data).pop("task", None)
        for key, value in data.items():
            seen[f"{task}_{key}" if task is not None and key == "rate" else key].append(value)
    (config,), (start,), (end,) = seen["config"], seen["start"], seen["end"]
    losses = seen["loss"]
    ended_well = end["return_code"] == 0 and not any(map(math.isnan, losses))
    success = bool(seen["stop"]) or (ended_well and bool(seen["train_rate"]))
    for sample in seen["gpudata"]:
        for readings in sample.values():
            assert readings["memory"][0] >= 0
            assert readings["load"] >= 0
    nolog = "nolog" in config["tag"]
    return {
        "name": config["name"],
        "success": success or nolog,
        "rates": seen["train_rate"],
        "walltime": end["time"] - start["time"],
    }


def files() -> list[Path]:
    return sorted(FIRST.glob("*.data"))


@pytest.mark.parametrize("path", files(), ids=lambda path: path.name)
def test_each_file_has_what_milabench_asks_for(path: Path) -> None:
    found = read(path)
    assert found["success"]
    assert found["walltime"] > 0
    assert all(isinstance(rate, float | int) for rate in found["rates"])


def test_its_numbers_are_those_of_compat() -> None:
    benchmarks: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for path in files():
        found = read(path)
        benchmarks[found["name"]].append(found)
    rows = {row.name: row for row in report_of([FIRST], compat_formulas=True).rows}
    assert rows.keys() == benchmarks.keys()
    for name, several in benchmarks.items():
        rates = [rate for found in several for rate in found["rates"]]
        assert rows[name].perf == pytest.approx(statistics_of(rates).mean, rel=1e-12)
        assert (rows[name].n, rows[name].fail) == (len(several), 0)
