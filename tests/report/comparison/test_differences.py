"""What two sides differ in, one planted difference at a time."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.report.comparison.comparison_model import SideDifference
from milabench_ddp.report.comparison.differences import side_differences
from milabench_ddp.report.comparison.sides import Side
from tests.support.compared_runs import launched
from tests.support.described_runs import MACHINE, META, SETTINGS
from tests.support.result_files import told

BENCHMARKS = {"b": [100.0], "b.c": [100.0], "d": [100.0], "e": [100.0]}


def differing(tmp_path: Path, **more: Any) -> list[SideDifference]:
    suite = {name: deepcopy(SETTINGS) for name in BENCHMARKS}
    before = launched(tmp_path / "a", BENCHMARKS, suite=suite)
    after = launched(tmp_path / "b", BENCHMARKS, **{"suite": suite, **more})
    return side_differences(Side.read(str(before)), Side.read(str(after)))


def test_equal_runs_differ_in_nothing(tmp_path: Path) -> None:
    assert differing(tmp_path) == []


@pytest.mark.parametrize(
    ("place", "value", "expected"),
    [
        ("pytorch.torch", "2.16.0", ("torch", "2.15.0+cu132", "2.16.0")),
        ("accelerators.driver", "590.1", ("driver", "580.95", "590.1")),
        ("os.nodename", "node2", ("nodes", "node1", "node2")),
        ("accelerators.gpus.0.uuid", "GPU-2", ("GPUs", "GPU-1", "GPU-2")),
        ("accelerators.gpus.0.power_limit", 500.0, ("power limit", "700 W", "500 W")),
    ],
)
def test_versions_nodes_and_devices(
    tmp_path: Path, place: str, value: object, expected: tuple[str, str, str]
) -> None:
    meta = deepcopy(META)
    *keys, last = place.split(".")
    inner: Any = meta
    for key in keys:
        inner = inner[key]
    inner[last] = value
    assert differing(tmp_path, meta=meta) == [SideDifference(*expected)]


def test_a_batch_that_a_program_made_smaller(tmp_path: Path) -> None:
    before = launched(tmp_path / "a", {"b": [100.0]})
    after = launched(tmp_path / "b", {"b": [100.0]})
    with (after / "b.D0.data").open("a") as file:
        file.write(told(model={"asked_batch_size": 32, "batch_size": 8, "device_gib": 23.5}))
    found = side_differences(Side.read(str(before)), Side.read(str(after)))
    assert found == [SideDifference("b: argv.--batch-size", "32", "8")]


def test_settings_that_differ_alike_are_one_difference(tmp_path: Path) -> None:
    suite = {name: deepcopy(SETTINGS) for name in BENCHMARKS}
    for settings in suite.values():
        settings["argv"]["--batch-size"] = 64  # type: ignore[index]
    suite["d"]["argv"]["--batch-size"] = 16  # type: ignore[index]
    assert differing(tmp_path, suite=suite) == [
        SideDifference("b, b.c, e: argv.--batch-size", "32", "64"),
        SideDifference("d: argv.--batch-size", "32", "16"),
    ]


def test_the_environment_and_the_preset(tmp_path: Path) -> None:
    machine = deepcopy(MACHINE)
    machine["environment"]["NCCL_ALGO"] = "Tree"  # type: ignore[index]
    assert differing(tmp_path, machine=machine, preset="small") == [
        SideDifference("preset", "full", "small"),
        SideDifference("environment", "NCCL_ALGO=Ring", "NCCL_ALGO=Tree"),
    ]


def test_what_runs_of_both_sides_have_is_no_difference(tmp_path: Path) -> None:
    other = deepcopy(META)
    other["accelerators"]["driver"] = "590.1"
    for side in ("a", "b"):
        launched(tmp_path / side / "old", {"b": [100.0]})
        launched(tmp_path / side / "new", {"b": [100.0]}, meta=other)
    sides = [Side.read(str(tmp_path / side), pool=True) for side in ("a", "b")]
    assert side_differences(*sides) == []
