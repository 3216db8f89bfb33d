"""What is said of devices that compute other bits."""

from milabench_ddp.report.assemble import report_of
from tests.support.told_bits import device, digests


def found(folder):
    said = [each for each in report_of([folder]).findings if each.name.startswith("bits_")]
    return {each.name: each for each in said}


def test_a_device_that_is_wrong_fails_and_is_taken_out(tmp_path):
    for number in range(3):
        device(tmp_path, f"n{number}/0", digests((2, 1) if number == 2 else None))
    report = report_of([tmp_path])
    (each,) = found(tmp_path).values()
    assert (each.name, each.benchmark, each.place) == ("bits_differ", "bits", "bits.D0.n2")
    assert each.evidence == {"step": 2, "tensor": "b", "usual": 2}
    assert (each.fails, each.action) == (True, "isolate")
    assert each.sentence in report.errors
    assert not report.passed
    (check,) = [check for check in report.checks if check.finding == "bits_differ"]
    assert (check.found, check.compared) == (1, {"bits": 3})


def test_what_is_not_clear_fails_nobody(tmp_path):
    for number in range(2):
        device(tmp_path, f"n{number}/0", digests((0, 0) if number == 1 else None))
    (each,) = found(tmp_path).values()
    assert (each.name, each.place) == ("bits_unclear", "bits.D0.n0, bits.D0.n1")
    assert (each.fails, each.action) == (False, "")
    assert report_of([tmp_path]).errors == []


def test_devices_that_agree_are_silent(tmp_path):
    for number in range(3):
        device(tmp_path, f"n{number}/0", digests())
    assert found(tmp_path) == {}


def test_a_device_without_a_whole_pass_is_named(tmp_path):
    """Not among those in which nothing was found."""
    for number in range(2):
        device(tmp_path, f"n{number}/0", digests())
    device(tmp_path, "n2/0", [], passes=0.5)
    (each,) = found(tmp_path).values()
    assert (each.name, each.place) == ("bits_not_compared", "bits.D0.n2")
    assert (each.severity, each.fails) == ("warning", False)
    (check,) = [check for check in report_of([tmp_path]).checks if check.finding == "bits_differ"]
    assert (check.found, check.compared) == (1, {"bits": 2})
