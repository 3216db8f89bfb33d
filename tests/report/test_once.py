from msgspec import Struct
from msgspec.structs import replace

from milabench_ddp.report.once import once


class Subject(Struct, frozen=True, dict=True):
    number: int


made: list[int] = []


@once
def doubled(subject: Subject) -> int:
    made.append(subject.number)
    return 2 * subject.number


@once
def tripled(subject: Subject) -> int:
    return 3 * subject.number


def test_it_is_calculated_once_for_each() -> None:
    first, alike = Subject(1), Subject(1)
    assert [doubled(first), doubled(first), tripled(first), doubled(alike)] == [2, 2, 3, 2]
    assert made == [1, 1]
    assert doubled(replace(first, number=5)) == 10
    assert first == alike
