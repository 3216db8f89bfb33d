"""Devices that are slower than the others."""

from pathlib import Path

import pytest

from milabench_ddp.report.assemble import report_of
from tests.support.result_files import config, end, rates, start, write


@pytest.mark.parametrize("slow", [0, 1])
def test_of_two_devices_the_slow_one_is_named_and_a_loaded_one_is_not(
    tmp_path: Path, slow: int
) -> None:
    for run, part in (("slow", slice(None)), ("loaded", slice(12))):
        for device in range(2):
            speeds = [100.0 + 0.1 * (k % 5) for k in range(40)]
            if device == slow:
                speeds[part] = [speed / 1.2 for speed in speeds[part]]
            tag = ["b", f"D{device}"]
            lines = config("b", device=device, tag=tag), start(), rates(speeds, steps=1), end(0)
            write(tmp_path / run, ".".join(tag), *lines)
    found = [f for f in report_of([tmp_path / "slow"]).findings if f.name == "slow_device"]
    assert [f.place for f in found] == [f"device {slow}"]
    assert f"slower than device {1 - slow} (" in found[0].sentence
    loaded = report_of([tmp_path / "loaded"]).findings
    assert not [f for f in loaded if f.name == "slow_device"]
