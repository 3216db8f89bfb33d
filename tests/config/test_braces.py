import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from milabench_ddp.config.braces import fields, fill, only_field

VALUES = {"a": "1", "batch-size": "64"}
NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]*", fullmatch=True)


def filled(text: str) -> str:
    return fill(text, VALUES.get, unescape=True)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{a}", "1"),
        ("x{a}y{batch-size}z", "x1y64z"),
        ("{{a}}", "{a}"),
        ("{{{a}}}", "{{a}}"),
        ("{b}", "{b}"),
        ("${a}", "${a}"),
        ("{}", "{}"),
        ("{", "{"),
        ("}{", "}{"),
        ("{ a }", "{ a }"),
        ('{"a": {"b": 1}}', '{"a": {"b": 1}}'),
        ("{0}", "{0}"),
    ],
)
def test_only_names_in_braces_are_placeholders(text: str, result: str) -> None:
    assert filled(text) == result


@given(st.text(alphabet="{}$ab \"':1,", max_size=12).filter(lambda text: not fields(text)))
@example("{{a}}")
def test_text_without_placeholders_is_itself_until_it_is_unescaped(text: str) -> None:
    assert fill(text, VALUES.get, unescape=False) == text


@given(NAMES)
def test_an_escaped_name_comes_out_as_written(name: str) -> None:
    assert fill(f"{{{{{name}}}}}", lambda _: "wrong", unescape=True) == f"{{{name}}}"


@given(NAMES, st.text(max_size=5))
def test_a_value_is_not_looked_at_again(name: str, value: str) -> None:
    assert fill(f"<{{{name}}}>", lambda _: value, unescape=True) == f"<{value}>"


def test_a_whole_placeholder() -> None:
    assert only_field("{a}") == "a"
    assert only_field("{a} ") is None
    assert only_field("{{a}}") is None
    assert fields("{a}{{b}}${c}{a}") == ["a", "a"]
