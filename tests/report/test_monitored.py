"""Which samples stand for which part of the measured steps."""

from pathlib import Path

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.monitored import Monitored
from tests.support.result_files import end, job, sampled, start, timed_rates, write


def devices(folder: Path, *times: float, nodes: int = 1) -> tuple[Monitored, ...]:
    """The devices of a job of 4 s, from second 1000 on, sampled at these times."""
    for node in range(nodes):
        tag = ["b", "0", *([f"node{node}"] if nodes > 1 else []), *(["nolog"] if node else [])]
        told = "".join(sampled(time, d0={"power": time}, d1={"load": 0.0}) for time in times)
        rates = "" if node else timed_rates([10.0, 10.0, 10.0, 30.0])
        settings = job("b", nodes=nodes, tag=tag)
        write(folder, ".".join(tag), settings, start(), told, rates, end(0, outcome="ok"))
    (row,) = report_of([folder]).rows
    return row.monitored


def test_samples_outside_the_window_stand_for_nothing(tmp_path: Path) -> None:
    (device,) = devices(tmp_path, 999.0, 1000.5, 1002.5, 1003.5, 1004.5)
    assert device.label == "GPU 0"  # the other was never in use
    found = [(each.sample.power, each.steps, each.seconds) for each in device.stretches]
    assert found == [
        (1000.5, pytest.approx(15 / 60), pytest.approx(1.5)),
        (1002.5, pytest.approx(15 / 60), pytest.approx(1.5)),
        (1003.5, pytest.approx(30 / 60), pytest.approx(1.0)),  # three times as fast
    ]
    assert [sample.power for sample in device.measured] == [1000.5, 1002.5, 1003.5]


def test_without_a_sample_in_the_window_all_count(tmp_path: Path) -> None:
    (device,) = devices(tmp_path, 990.0, 1010.0)
    assert device.stretches == ()
    assert [sample.power for sample in device.measured] == [990.0, 1010.0]


def test_on_every_node_the_steps_are_those_that_one_of_them_tells(tmp_path: Path) -> None:
    first, second = devices(tmp_path, 1001.0, 1003.0, 1005.0, nodes=2)
    assert (first.label, second.label) == ("GPU 0 of node0", "GPU 0 of node1")
    for device in (first, second):
        assert [each.seconds for each in device.stretches] == [2.0, 2.0]
