import numpy as np

from milabench_ddp.results.payload import RepeatedLines


def again(lines: RepeatedLines, *told: tuple[float, float, float, float]) -> list[bool]:
    return lines.add(*np.array(told, float).T).tolist()


FIRST, SECOND = (0.0, 1.0, 10.0, 5.5), (0.0, 2.0, 11.0, 5.5)


def test_lines_that_were_written_before() -> None:
    lines = RepeatedLines()
    assert again(lines, FIRST, SECOND, FIRST) == [False, False, True]
    assert again(lines, (0.0, 3.0, 12.0, 5.5)) == [False]
    assert again(lines, SECOND, (0.0, 4.0, 13.0, 5.5)) == [True, False]


def test_one_number_makes_another_line() -> None:
    lines = RepeatedLines()
    again(lines, FIRST)
    for k in range(4):
        other = list(FIRST)
        other[k] += 0.5
        assert again(lines, tuple(other)) == [False]
