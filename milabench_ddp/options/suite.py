"""The options of the commands that read a configuration."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from ..config.runner_profile import KINDS, SETTINGS
from ..machine.backends import BACKENDS
from .option import (
    argument_name,
    fail_on,
    integer,
    interval,
    names_option,
    node_counts,
    option,
    percentage,
    positive,
    repeats,
    seconds,
)

CONFIG = "a YAML file, or the name of a shipped suite, such as ddp"


@dataclass(frozen=True, kw_only=True)
class SuiteOptions:
    """The options of every command that reads a configuration."""

    config: str = option("", CONFIG, is_positional=True, metavar="CONFIG")
    select: tuple[str, ...] = names_option("only these benchmarks: names, globs, groups or tags")
    exclude: tuple[str, ...] = names_option("all benchmarks except these")
    override: tuple[str, ...] = option(
        (), "replace a value, for example 'resnet*.argv.--batch-size=32'",
        action="append", metavar="NAME.KEY=VALUE",
    )  # fmt: skip
    preset: str = option(
        "auto", "the preset: small, full, ...; auto is full on GPUs, and small on a CPU",
        metavar="NAME",
    )  # fmt: skip
    system: str | None = option(
        None, "a YAML file that describes the nodes, their GPUs and the sizing of batches",
        metavar="FILE",
    )  # fmt: skip
    device: str | None = option(
        None, "the kind of device to use (default: GPUs, or the CPU if there are no GPUs)",
        choices=tuple(BACKENDS),
    )  # fmt: skip
    gpus: int | None = option(
        None, "the number of devices per node; with --device cpu, the number of CPU slots",
        type=positive, metavar="N",
    )  # fmt: skip
    nodes: tuple[int, ...] = option(
        (), "the number of nodes; several numbers are the node counts of a sweep",
        type=node_counts, metavar="N[,N...]",
    )  # fmt: skip
    base: str | None = option(
        None, "the folder of runs/, data/ and venv/ "
        "(default: $MILABENCH_BASE, or the current folder)",
        metavar="DIR",
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ResolveOptions(SuiteOptions):
    """The options of ``resolve``."""

    explain: bool = option(False, "show the file and the line of each value")


@dataclass(frozen=True, kw_only=True)
class InstallOptions(SuiteOptions):
    """The options of ``install``."""

    force: bool = option(False, "make the environments again, even if they exist")


@dataclass(frozen=True, kw_only=True)
class LaunchOptions(SuiteOptions):
    """The options of ``dry`` and of ``run``: where, how often and in which order to launch."""

    runner: str | None = option(
        None, f"the runner profile: {', '.join(KINDS)}, or a YAML file", metavar="PROFILE"
    )
    numa_binding: str = option(
        "node", "bind the processes of each GPU to the cores next to it: node; or do not: none",
        choices=("node", "none"),
    )  # fmt: skip
    # Settings that override those of the profile, by their names in it. `RunnerProfile` declares
    # their flags.
    settings: Mapping[str, str | int] = field(default_factory=dict)
    repeat: int | None = option(
        None, "how many times to run each benchmark, or with --until at most (default: 1, or 20)",
        type=repeats, metavar="K",
    )  # fmt: skip
    until: float | None = option(
        None, "repeat each benchmark until its rate is known to +- this, with 95 %%, such as 1%%",
        type=percentage, metavar="PERCENT",
    )  # fmt: skip
    shuffle: bool = option(
        False, "run the benchmarks in a random order, a new one for each repeat of all"
    )
    seed: int | None = option(
        None, "the whole number that --shuffle makes its order from (default: a random one)",
        type=integer, metavar="N",
    )  # fmt: skip
    profile: str = option(
        "never", "after the run, trace a few more steps: never, of what had a finding, or always",
        choices=("never", "on-finding", "always"),
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class RunOptions(LaunchOptions):
    """The options of ``run``."""

    config: str = option("", CONFIG, is_positional=True, metavar="CONFIG", nargs="?")
    after: str = option(
        "", "a second one: the launches of both take turns (A, B, B, A, ...), and are compared",
        is_positional=True, metavar="CONFIG", nargs="?",
    )  # fmt: skip
    resume: str | None = option(
        None, "resume this run: run the benchmarks that have not finished", metavar="RUN"
    )
    name: str | None = option(
        None, "the name of the run (default: a random word and the date)", metavar="NAME"
    )
    grace: float = option(
        5.0, "the number of seconds between SIGTERM and SIGKILL", type=seconds, metavar="S"
    )
    gpu_poll: float | None = option(
        None, "the number of seconds between two samples of the devices; 0 turns sampling off",
        type=interval, metavar="S",
    )  # fmt: skip
    detach: bool = option(
        False, "return as soon as the jobs are submitted; `milabench watch` follows the run"
    )
    quiet: bool = option(False, "show no progress, only the report")
    fail_on: str = fail_on()


CHANGEABLE = ("base", "after", "resume", "detach", "quiet", "fail_on", "settings")


def fixed_options(options: RunOptions) -> list[str]:
    """The given options that are fixed when a run is created, as the command line names them.

    ``--resume`` refuses them.
    """
    given = ["CONFIG"] if options.config else []
    for known in fields(options):
        if known.name in (*CHANGEABLE, "config"):
            continue
        if getattr(options, known.name) != known.default:
            given.append(argument_name(known))
    given += [SETTINGS[name].flag for name in options.settings if SETTINGS[name].is_fixed]
    return given
