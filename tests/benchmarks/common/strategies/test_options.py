import argparse

import pytest

from benchmarks.common.failure import UnsupportedError
from benchmarks.common.strategies.options import MODES, add_options, check_options, defaults
from tests.support.strategies import options


@pytest.mark.parametrize(
    ("argv", "modes"),
    [
        ("--accumulate 2", "single or ddp or fsdp or hsdp or tp or tp-fsdp"),
        ("--bucket-cap-mb 1", "ddp"),
        ("--static-graph", "ddp"),
        ("--comm-hook bf16", "ddp"),
        ("--cpu-offload", "fsdp or hsdp or tp-fsdp"),
        ("--mixed-precision bf16", "fsdp or hsdp or tp-fsdp or pdp"),
        ("--shard-size 2", "hsdp"),
        ("--ndevice-per-proc 2", "pdp"),
        ("--schedule GPipe", "pipeline or pdp"),
        ("--replicated-by replicate", "pdp"),
        ("--tp-size 2", "tp-fsdp"),
        ("--sequence-parallel", "tp or tp-fsdp"),
    ],
)
def test_an_option_is_for_its_modes_alone(argv, modes):
    for mode in MODES:
        args = options(f"--mode {mode} {argv}")
        if mode in modes.split(" or "):
            check_options(args)
            continue
        with pytest.raises(UnsupportedError) as refusal:
            check_options(args)
        assert str(refusal.value) == f"{argv.split()[0]} is for mode {modes}, not for {mode}"


@pytest.mark.parametrize("mode", MODES)
def test_what_was_not_set_is_never_refused(mode):
    check_options(options(f"--mode {mode}"))


def test_a_parser_of_few_modes_has_the_defaults_of_the_others():
    everything, few = argparse.ArgumentParser(), argparse.ArgumentParser()
    add_options(everything)
    add_options(few, ("ddp", "fsdp"), "fsdp")
    known, found = vars(everything.parse_args([])), vars(few.parse_args([]))
    assert (known.pop("mode"), found.pop("mode")) == ("ddp", "fsdp")
    assert found == known
    assert {**known, **defaults()} == known


def test_the_help_names_the_modes_of_an_option(capsys):
    parser = argparse.ArgumentParser()
    add_options(parser)
    with pytest.raises(SystemExit):
        parser.parse_args(["--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "ranks that share one copy of the model; by default half [hsdp]" in text


def test_a_parser_has_the_options_of_its_modes_alone():
    parser = argparse.ArgumentParser()
    add_options(parser, ("ddp",), "ddp")
    args = parser.parse_args(["--bucket-cap-mb", "5"])
    assert args.bucket_cap_mb == 5
    assert args.schedule == "1F1B"  # there, with its default
    with pytest.raises(SystemExit):
        parser.parse_args(["--schedule", "GPipe"])
