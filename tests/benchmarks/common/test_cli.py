import argparse

import pytest

from benchmarks.common import cli


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--n", "0"], "argument --n: 0 is less than 1"),
        (["--n", "ten"], "argument --n: invalid integer value: 'ten'"),
        (["--k", "-1"], "argument --k: -1 is less than 0"),
        (["--x", "0"], "argument --x: 0 is not a number above 0"),
        (["--x", "nan"], "argument --x: nan is not a number above 0"),
        (["--device", "tpu"], "argument --device: invalid choice: 'tpu'"),
    ],
)
def test_bad_values_are_named(argv, message, capsys):
    parser = cli.parser("What it does.")
    parser.add_argument("--n", type=cli.positive)
    parser.add_argument("--k", type=cli.natural)
    parser.add_argument("--x", type=cli.positive_float)
    with pytest.raises(SystemExit) as exit_:
        parser.parse_args(argv)
    assert exit_.value.code == 2
    assert message in capsys.readouterr().err


def test_help_says_what_it_does_and_the_defaults():
    parser = cli.parser("What it does.\n\n    as written")
    parser.add_argument("--n", type=cli.positive, default=3, help="how many")
    parser.add_argument("--k", type=cli.natural, help="how few; by default none")
    parser.add_argument("--all", action="store_true", help="everything")
    text = parser.format_help()
    assert "What it does.\n\n    as written" in text
    assert "how many (default: 3)" in text
    assert "how few; by default none\n" in text
    assert "everything\n" in text


def test_unknown_names():
    known = ["resnet50", "resnet152", "vgg16"]
    assert cli.unknown("model", "resnet5", known) == (
        "unknown model 'resnet5': did you mean resnet50, resnet152?"
    )
    assert cli.unknown("model", "xyzzy", known) == "unknown model 'xyzzy'"


def test_bytes():
    assert [cli.byte_count(text) for text in ("12", "64Ki", "2Mi", "1Gi")] == [
        12,
        2**16,
        2**21,
        2**30,
    ]
    for text in ("", "0", "-1", "1.5Mi", "1GB"):
        with pytest.raises(argparse.ArgumentTypeError):
            cli.byte_count(text)
