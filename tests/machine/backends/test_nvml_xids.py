"""The errors that the driver reports of GPUs that a stub of NVIDIA's C library makes up."""

import pytest
from msgspec.structs import replace

from milabench_ddp.machine.backends.backend import Reading
from milabench_ddp.machine.devices import Device
from tests.support.gpu_readings import MIG, WHOLE, Stub, about_gpu_1, reader


@pytest.mark.parametrize("xid", [1, 79, 171])
def test_an_error_that_the_driver_reports_is_told_once(stub: Stub, xid: int) -> None:
    with reader() as read:
        assert read() == Reading(WHOLE)
        stub(f"1 xid {xid}")
        (problem,) = about_gpu_1(f"reported Xid {xid}")
        assert read() == Reading(WHOLE, (replace(problem, xid=xid),))
        assert read() == Reading(WHOLE)


def test_the_errors_of_a_gpu_are_those_of_its_mig_device(stub: Stub) -> None:
    stub("1 mig 2", "1 xid 48")
    with reader([Device(1, MIG)]) as read:
        told = [(problem.sentence, problem.xid) for problem in read().problems]
    assert told[1:] == [(f"MIG device 1 ({MIG}) reported Xid 48", 48)]


@pytest.mark.parametrize(
    ("number", "action"), [(0, ""), (1, "reset"), (2, "reboot"), (3, "isolate"), (7, "reboot")]
)
def test_what_the_driver_asks_for_is_told_while_it_does(
    stub: Stub, number: int, action: str
) -> None:
    with reader() as read:
        stub(f"1 f230 {number}")
        for _ in range(2):
            problems = read().problems
            assert [each.action for each in problems] == [action] * bool(action)
            assert all(each.is_fault and each.device == 1 for each in problems)
        stub("1 f230 0")
        assert read() == Reading(WHOLE)


def test_the_errors_of_devices_that_others_use_are_not_told(stub: Stub) -> None:
    stub("0 xid 79")
    with reader([Device(1, "1")]) as read:
        assert read().problems == ()
