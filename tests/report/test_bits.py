"""Who computes other bits, from made-up digests whose truth is known."""

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.bits import judged_bits
from tests.support.told_bits import LIKE, STEPS, TENSORS, device, digests


def judgement(folder):
    (row,) = report_of([folder]).rows
    return judged_bits(row)


def short(found):
    return [(each.tags, each.first.step, each.first.tensor, each.usual) for each in found]


@pytest.mark.parametrize("place", [(0, 0), (2, 1), (STEPS - 1, len(TENSORS) - 1)])
@pytest.mark.parametrize("odd", [0, 2])
def test_of_three_the_one_that_differs_is_wrong(tmp_path, place, odd):
    for number in range(3):
        device(tmp_path, f"n0/{number}", digests(place if number == odd else None))
    found = judgement(tmp_path)
    expected = ((f"bits.D{odd}.n0",), place[0], TENSORS[place[1]], 2)
    assert short(found.wrong) == [expected]
    assert not found.unclear
    assert found.compared == 3


def test_equal_devices_are_silent(tmp_path):
    for number in range(8):
        device(tmp_path, f"n{number % 2}/{number}", digests())
    found = judgement(tmp_path)
    assert (found.wrong, found.unclear, found.compared) == ([], [], 8)


def test_several_are_wrong_if_each_differs_in_its_own_way(tmp_path):
    wrongs = {1: digests((2, 1)), 4: digests((1, 0), value=2)}
    for number in range(5):
        device(tmp_path, f"n0/{number}", wrongs.get(number, digests()))
    assert short(judgement(tmp_path).wrong) == [
        (("bits.D1.n0",), 2, "b", 3),
        (("bits.D4.n0",), 1, "a", 3),
    ]


def test_two_that_agree_in_other_bits_have_another_library_perhaps(tmp_path):
    for number in range(5):
        device(tmp_path, f"n{number}/0", digests((3, 0) if number in (1, 4) else None))
    found = judgement(tmp_path)
    assert not found.wrong
    assert short(found.unclear) == [(("bits.D0.n1", "bits.D0.n4"), 3, "a", 3)]


@pytest.mark.parametrize("each", [1, 2])
def test_without_a_majority_it_is_not_clear_who_is_wrong(tmp_path, each):
    for number in range(2 * each):
        device(tmp_path, f"n0/{number}", digests((3, 2) if number < each else None))
    found = judgement(tmp_path)
    assert not found.wrong
    assert [one[1:] for one in short(found.unclear)] == [(3, "c", 0)]
    assert len(found.unclear[0].tags) == 2 * each


def test_one_that_differs_from_itself_is_wrong_and_judges_no_other(tmp_path):
    device(tmp_path, "n0/0", digests((1, 1)), first=(1, "b"))
    device(tmp_path, "n1/0", digests())
    found = judgement(tmp_path)
    assert short(found.wrong) == [(("bits.D0.n0",), 1, "b", 0)]
    assert found.wrong[0].nodes == ("n0",)
    assert not found.unclear


def test_another_launch_is_another_pass(tmp_path):
    for repeat in ("R0", "R1"):
        wrong = (2, 2) if repeat == "R1" else None
        device(tmp_path, "n0/0", digests(wrong), repeat=[repeat], passes=1.0)
    found = judgement(tmp_path)
    assert [one[1:] for one in short(found.wrong)] == [(2, "c", 0)]


def test_a_device_of_two_launches_is_one_voice(tmp_path):
    for repeat in ("R0", "R1"):
        device(tmp_path, "n0/0", digests((2, 2)), repeat=[repeat])
        device(tmp_path, "n1/0", digests(), repeat=[repeat])
        device(tmp_path, "n2/0", digests(), repeat=[repeat])
    found = judgement(tmp_path)
    assert [one[1:] for one in short(found.wrong)] == [(2, "c", 2)]


@pytest.mark.parametrize("change", [{"name": "A100"}, {"torch": "2.12"}, {"threads": 8}])
def test_only_devices_that_are_alike_are_compared(tmp_path, change):
    for number in range(4):
        like = LIKE | change if number == 3 else LIKE
        device(tmp_path, f"n0/{number}", digests((0, 0) if number == 3 else None), like=like)
    found = judgement(tmp_path)
    assert (found.wrong, found.unclear, found.compared) == ([], [], 4)  # it agrees with itself


def test_devices_of_another_driver_are_not_alike(tmp_path):
    for number in range(4):
        wrong = number == 3
        driver = "535.54" if wrong else "570.86"
        device(tmp_path, f"n0/{number}", digests((0, 0) if wrong else None), driver=driver)
    found = judgement(tmp_path)
    assert (found.wrong, found.unclear) == ([], [])


def test_one_pass_of_one_device_is_compared_with_nothing(tmp_path):
    device(tmp_path, "n0/0", digests(), passes=1.0)
    device(tmp_path, "n0/1", digests((0, 0)), passes=1.0, like=LIKE | {"name": "A100"})
    assert judgement(tmp_path).compared == 0


@pytest.mark.parametrize(
    "damaged",
    [
        {"bits": digests()[:-1], "passes": 1.0},  # a step is missing
        {"bits": [each[:-1] for each in digests()]},
        {"bits": digests(), "tensors": ["a"]},
        {"bits": digests(), "tensors": 5},
        {"bits": digests(), "like": {"steps": [1]}},
    ],
)
def test_what_is_damaged_is_not_compared(tmp_path, damaged):
    device(tmp_path, "n0/0", damaged.pop("bits"), **damaged)
    device(tmp_path, "n0/1", digests())
    device(tmp_path, "n0/2", digests())
    found = judgement(tmp_path)
    assert (found.wrong, found.unclear, found.compared) == ([], [], 2)
