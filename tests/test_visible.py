import pytest

from milabench_ddp.table import Column, Table, text_lines
from milabench_ddp.visible import visible
from milabench_ddp.wrapped import wrapped


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\u202eb\u2066c", r"a\u202eb\u2066c"),
        ("\x1b[31m\x00", r"\u001b[31m\u0000"),
        ("half \ud83d of a pair", r"half \ud83d of a pair"),
        ("two\n\tlines, ±, é 漢 😀", "two\n\tlines, ±, é 漢 😀"),
    ],
)
def test_what_cannot_be_seen_is_shown_by_its_number(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_lines_and_tables_hide_nothing_and_are_as_wide_as_they_look() -> None:
    assert list(wrapped("a \u202egpj.exe", 10)) == [r"a", r"\u202egpj.exe"]
    table = Table((Column("bench"), Column("n", "d")), (("\x1b[2Jx", 1), ("abc", 2)))
    head, hidden, plain = text_lines(table)
    assert (head, hidden, plain) == ("bench      | n", r"\u001b[2Jx | 1", "abc        | 2")
