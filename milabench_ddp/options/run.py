"""The options of ``run``."""

from dataclasses import dataclass, fields

from ..config.runner_profile import SETTINGS
from .launch import LaunchOptions
from .option import argument_name, fail_on, interval, option, seconds


@dataclass(frozen=True, kw_only=True)
class RunOptions(LaunchOptions):
    """The options of ``run``."""

    config: str = option(
        "", "a YAML file, or the name of a shipped suite, such as ddp",
        is_positional=True, metavar="CONFIG", nargs="?",
    )  # fmt: skip
    after: str = option(
        "", "a second one: the launches of both take turns (A, B, B, A, ...), and are compared",
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
    fail_on: str = fail_on()


def fixed_options(options: RunOptions) -> list[str]:
    """The given options that are fixed when a run is created, as the command line names them."""
    given = ["CONFIG"] if options.config else []
    for known in fields(options):
        is_default = getattr(options, known.name) == known.default
        if known.metadata.get("is_fixed") and not is_default:
            given.append(argument_name(known))
    given += [SETTINGS[name].flag for name in options.settings if SETTINGS[name].is_fixed]
    return given
