"""The errors that the driver reports of GPUs that a stub of NVIDIA's C library makes up."""

import pytest

from milabench_ddp.machine.backends.backend import Reading
from milabench_ddp.machine.devices import Device
from tests.support.gpu_readings import MIG, WHOLE, Stub, about_gpu_1, reader


@pytest.mark.parametrize(
    ("xid", "about", "is_fault"),
    [
        (79, "it has fallen off the bus; restart the machine", True),
        (31, "a fault of a program", False),
        (99, "see NVIDIA's list of Xids", True),
    ],
)
def test_an_error_that_the_driver_reports_is_told_once(
    stub: Stub, xid: int, about: str, *, is_fault: bool
) -> None:
    with reader() as read:
        assert read() == Reading(WHOLE)
        stub(f"1 xid {xid}")
        assert read() == Reading(
            WHOLE, about_gpu_1(f"reported Xid {xid}: {about}", is_fault=is_fault)
        )
        assert read() == Reading(WHOLE)


def test_the_errors_of_a_gpu_are_those_of_its_mig_device(stub: Stub) -> None:
    stub("1 mig 2", "1 xid 48")
    with reader([Device(1, MIG)]) as read:
        sentences = [problem.sentence for problem in read().problems]
    about = "reported Xid 48: a memory error that ECC could not correct"
    assert sentences[1:] == [f"MIG device 1 ({MIG}) {about}"]


def test_the_errors_of_devices_that_others_use_are_not_told(stub: Stub) -> None:
    stub("0 xid 79")
    with reader([Device(1, "1")]) as read:
        assert read().problems == ()
