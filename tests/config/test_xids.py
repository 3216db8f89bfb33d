"""What is known of the errors that NVIDIA's driver reports."""

import pytest

from milabench_ddp.config.xids import ACTIONS, explained, severity_of, xids
from milabench_ddp.samples import DeviceProblem


def problem(xid: int | None, **facts: object) -> DeviceProblem:
    return DeviceProblem(f"GPU 1 reported Xid {xid}", 1, xid=xid, **facts)


def test_each_number_stands_once_and_every_error_has_an_action() -> None:
    table = xids()
    listed = [number for xid in set(map(id, table.values())) for number in _of(xid)]
    assert sorted(listed) == sorted(table)
    assert all(0 < number < 200 for number in table)
    assert {xid.action for xid in table.values()} == set(ACTIONS)
    errors = [xid for xid in table.values() if xid.severity == "error"]
    assert errors
    assert all(xid.action != "watch" for xid in errors)
    assert all(xid.action == "watch" for xid in table.values() if xid.severity == "note")
    assert all(xid.source.startswith("https://docs.nvidia.com/deploy/") for xid in table.values())


def _of(identity: int) -> tuple[int, ...]:
    return next(xid.numbers for xid in xids().values() if id(xid) == identity)


# Of NVIDIA's catalog, read by hand: its immediate action, and whether a node fails by it.
@pytest.mark.parametrize(
    ("xid", "severity", "action"),
    [
        (13, "note", "watch"),
        (43, "note", "watch"),
        (48, "error", "reset"),
        (63, "warning", "watch"),
        (64, "error", "isolate"),
        (74, "error", "reset"),
        (79, "error", "reboot"),
        (94, "error", "reset"),
        (95, "error", "reset"),
        (119, "error", "reset"),
        (140, "error", "reset"),
        (999, "warning", ""),
        (None, "error", ""),
    ],
)
def test_severity_and_action(xid: int | None, severity: str, action: str) -> None:
    assert (severity_of(problem(xid)), explained(problem(xid)).action) == (severity, action)


def test_the_driver_of_a_device_knows_better_than_a_table() -> None:
    assert explained(problem(79, action="reset")).action == "reset"
    assert severity_of(problem(None, is_fault=False)) == "note"


@pytest.mark.parametrize(
    ("xid", "means", "is_fault"),
    [
        (79, "it has fallen off the bus; restart the machine", True),
        (31, "a fault of a program", False),
        (63, "a row of its memory was replaced", False),
        (999, "see NVIDIA's list of Xids", False),
    ],
)
def test_a_problem_says_what_its_xid_means(xid: int, means: str, *, is_fault: bool) -> None:
    told = explained(problem(xid))
    assert (told.sentence, told.is_fault) == (f"GPU 1 reported Xid {xid}: {means}", is_fault)
    assert (told.xid, told.device) == (xid, 1)
    assert explained(problem(None)) == problem(None)
