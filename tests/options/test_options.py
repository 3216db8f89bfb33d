import argparse

import pytest

from milabench_ddp.cli import parse
from milabench_ddp.errors import ConfigError
from milabench_ddp.options.option import names, node_counts, percentage, positive, seconds
from milabench_ddp.options.reading import ReportOptions, RunFolderOptions
from milabench_ddp.options.suite import LaunchOptions, RunOptions, fixed_options


def test_the_defaults_are_those_of_the_record() -> None:
    assert parse(["run"]) == ("run", RunOptions())
    assert parse(["dry", "x"]) == ("dry", LaunchOptions(config="x"))
    assert parse(["watch", "r"]) == ("watch", RunFolderOptions(run="r"))
    assert parse(["report", "a", "b"]) == ("report", ReportOptions(runs=("a", "b")))


def test_the_settings_of_the_runner_are_apart_from_the_other_options() -> None:
    words = ["dry", "x", "--exclude", "a", "--exclude-nodes", "b,c", "--timeout", "9"]
    _, options = parse(words)
    settings = {"exclude": "b,c", "timeout": 9}
    assert options == LaunchOptions(config="x", exclude=("a",), settings=settings)
    with pytest.raises(ConfigError, match="wrong value for `--timeout` in the command line"):
        parse(["dry", "x", "--timeout", "0"])


def test_a_value_that_is_the_default_is_not_a_change_of_a_fixed_option() -> None:
    assert fixed_options(RunOptions(preset="auto", grace=5.0, quiet=True, base="b")) == []
    assert fixed_options(RunOptions(settings={"partition": "p"})) == []


def test_fixed_options_are_named_as_they_are_written() -> None:
    options = RunOptions(config="x", gpu_poll=0.0, settings={"gpus_per_node": 8})
    assert fixed_options(options) == ["CONFIG", "--gpu-poll", "--gpus-per-node"]


def test_help_says_the_default(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["run", "--help", "all"])
    text = " ".join(capsys.readouterr().out.split())
    assert "between SIGTERM and SIGKILL (default: 5)" in text
    assert "launches of each (default: 1; up to 20 with --until)" in text
    assert "the partition to submit to" in text


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "", "two"])
def test_what_is_not_a_count(text: str) -> None:
    said = f"{text!r} is not a whole number from 1 to 1,000,000"
    with pytest.raises(argparse.ArgumentTypeError, match=said):
        positive(text)
    with pytest.raises(argparse.ArgumentTypeError, match=said):
        node_counts(f"2,{text}")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["dry", "x", "--gpus", "1000000000"],
            "is not a whole number from 1 to 1,000,000",
        ),
        (["dry", "x", "--nodes", f"2,{'9' * 5000}"], "more characters ...]"),
        (["run", "x", "--repeat", "10001"], "'10001' is not a whole number from 1 to 10,000"),
        (
            ["run", "x", "--seed", "9" * 400],
            "is not a whole number from 0 to 9,223,",
        ),
        (
            ["run", "x", "--grace", "1e300"],
            "is not a number of seconds from 0 to 2,000,000",
        ),
    ],
)
def test_numbers_that_nothing_can_do(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        parse(words)
    assert end.value.code == 2
    error = capsys.readouterr().err
    assert said in error
    assert len(error) < 4000


def test_a_percentage() -> None:
    _, options = parse(["run", "x", "--until", "1%", "--shuffle", "--seed", "7"])
    assert isinstance(options, RunOptions)
    assert (options.until, options.shuffle, options.seed) == (0.01, True, 7)
    assert percentage("0.5 %") == 0.005


@pytest.mark.parametrize("text", ["1", "0%", "100%", "-1%", "x%", "1%%", "nan%", ""])
def test_what_is_not_a_percentage(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is not a percentage such as 1%"):
        percentage(text)


@pytest.mark.parametrize("text", ["-1", "nan", "inf", "soon"])
def test_what_is_not_a_number_of_seconds(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=f"{text!r} is not a number of seconds"):
        seconds(text)


def test_lists() -> None:
    assert names(" a, ,b ") == ["a", "b"]
    assert node_counts("1, 8,2,8") == (8, 2, 1)
    assert seconds("0.5") == 0.5
