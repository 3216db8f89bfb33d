import pytest
from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.config.tree import DEFAULT, from_plain
from milabench_ddp.config.words import command_line
from milabench_ddp.errors import ConfigError

WORDS = st.text(alphabet="ab-=, {}'\"$\n", min_size=1, max_size=6)
VALUES = st.none() | st.just(True) | st.integers() | WORDS | st.lists(WORDS, max_size=3)
OPTIONS = st.dictionaries(WORDS.map(lambda word: f"--{word}"), VALUES, max_size=5)


def words(value: object) -> tuple[str, ...]:
    return command_line("argv", from_plain(value, DEFAULT))


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        ({}, ()),
        (None, ()),
        ([], ()),
        ({"--x": 1, "-y": "a b", "--z": 0.01}, ("--x", "1", "-y", "a b", "--z", "0.01")),
        ({"--x": None, "--y": ""}, ("--y", "")),
        ({"--x": True}, ("--x",)),
        ({"--x": 1, "one": True, "two": True}, ("one", "two", "--x", "1")),
        ({"key": 3}, ("key", "3")),
        ({"--x": [1, "a", True]}, ("--x", "1,a,true")),
        ({"--": ["-params", "n:16"], "--x": 1}, ("-params", "n:16", "--x", "1")),
        ({"--": "last"}, ("last",)),
        ({"--": None}, ()),
        (["a", 1, None, False, "b c"], ("a", "1", "false", "b c")),
    ],
)
def test_the_command_line(argv: object, expected: tuple[str, ...]) -> None:
    assert words(argv) == expected


@given(st.lists(WORDS | st.integers()))
def test_a_list_is_its_words(argv: list[str | int]) -> None:
    assert words(argv) == tuple(str(word) for word in argv)


@given(OPTIONS, OPTIONS)
def test_options_of_two_halves_stand_side_by_side(
    a: dict[str, object], b: dict[str, object]
) -> None:
    b = {key: value for key, value in b.items() if key not in a}
    assert words(a | b) == words(a) + words(b)


@given(OPTIONS)
def test_a_cancelled_option_leaves_no_trace(argv: dict[str, object]) -> None:
    assert words({**argv, "--gone": None}) == words(argv)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ({"--x": False}, "`--x: false` in (default): use null to drop an option"),
        (
            {"--x": {"worker": None}},
            "wrong value for `--x` in (default): expected a single value, "
            "got a mapping (a placeholder needs quotes: '{worker}')",
        ),
        (
            {"--x": [[1]]},
            "wrong value for `--x` in (default): expected a single value, got a list",
        ),
        ([{}], "wrong value for `argv` in (default): expected a single value, got a mapping"),
        (["a\0"], "`argv` in (default) holds a null character"),
        (
            "--x 1",
            "wrong value for `argv` in (default): "
            "expected a mapping of options or a list of words, got the text `--x 1`",
        ),
    ],
)
def test_what_is_no_argument(argv: object, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        words(argv)
    assert str(error.value) == message
