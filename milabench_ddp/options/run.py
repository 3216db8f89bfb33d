"""The options of ``run`` and ``dry``."""

from dataclasses import dataclass, fields
from functools import partial

from ..config.runner_profile import SETTINGS
from .option import argument_name, fail_on, integer, interval, option, percentage, positive, seconds
from .suite import RunnerOptions

MOST_REPEATS = 10_000


@dataclass(frozen=True, kw_only=True)
class LaunchOptions(RunnerOptions):
    """The options of ``run`` and ``dry`` about how often, and in which order, benchmarks run."""

    repeat: int | None = option(
        None, "how many times to run each benchmark, or with --until at most (default: 1, or 20)",
        is_fixed=True, type=partial(positive, most=MOST_REPEATS), metavar="K",
    )  # fmt: skip
    until: float | None = option(
        None, "repeat each benchmark until its rate is known to +- this, with 95 %%, such as 1%%",
        is_fixed=True, type=percentage, metavar="PERCENT",
    )  # fmt: skip
    shuffle: bool = option(
        False, "run the benchmarks in a random order, a new one for each repeat of all",
        is_fixed=True, action="store_true",
    )  # fmt: skip
    seed: int | None = option(
        None, "the whole number that --shuffle makes its order from (default: a random one)",
        is_fixed=True, type=integer, metavar="N",
    )  # fmt: skip
    profile: str = option(
        "never", "after the run, trace a few more steps: never, of what had a finding, or always",
        is_fixed=True, choices=("never", "on-finding", "always"),
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class RunOptions(LaunchOptions):
    """The options of ``run``."""

    config: str = option(
        "", "a YAML file, or the name of a shipped suite, such as ddp",
        is_positional=True, metavar="CONFIG", nargs="?",
    )  # fmt: skip
    resume: str | None = option(
        None, "resume this run: run the benchmarks that have not finished", metavar="RUN"
    )
    name: str | None = option(
        None, "the name of the run (default: a random word and the date)",
        is_fixed=True, metavar="NAME",
    )  # fmt: skip
    grace: float = option(
        5.0, "the number of seconds between SIGTERM and SIGKILL",
        is_fixed=True, type=seconds, metavar="S",
    )  # fmt: skip
    gpu_poll: float | None = option(
        None, "the number of seconds between two samples of the devices; 0 turns sampling off",
        is_fixed=True, type=interval, metavar="S",
    )  # fmt: skip
    detach: bool = option(
        False, "return as soon as the jobs are submitted; `milabench watch` follows the run",
        action="store_true",
    )  # fmt: skip
    quiet: bool = option(False, "show no progress, only the report", action="store_true")
    fail_on: str | None = fail_on()


@dataclass(frozen=True, kw_only=True)
class DryOptions(LaunchOptions):
    """The options of ``dry``."""


def fixed_options(options: RunOptions) -> list[str]:
    """The given options that are fixed when a run is created, as the command line names them."""
    given = ["CONFIG"] if options.config else []
    for known in fields(options):
        is_default = getattr(options, known.name) == known.default
        if known.metadata.get("is_fixed") and not is_default:
            given.append(argument_name(known))
    given += [SETTINGS[name].flag for name in options.settings if SETTINGS[name].is_fixed]
    return given
