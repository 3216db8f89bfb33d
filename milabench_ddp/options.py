"""The options of each command, as records that declare default, parser, help and flag once.

``cli.py`` makes the parsers from these classes, and the records from the command line.
"""

from argparse import ArgumentTypeError
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, TypeVar

from .config.runner_profile import KINDS, SETTINGS
from .machine.backends import BACKENDS

T = TypeVar("T")


def option(
    default: T,
    help: str,
    *,
    is_positional: bool = False,
    is_fixed: bool = False,
    **keywords: object,
) -> T:
    """A field that the command line can set; its flag is its name.

    Args:
        default: its value if the command line does not give one.
        help: completes the sentence "this option is ...", or says what to do.
        is_positional: whether it is an argument without a flag.
        is_fixed: whether it is fixed when a run is created, so that ``--resume`` refuses it.
        keywords: for ``ArgumentParser.add_argument``.
    """
    if default not in (None, (), False, ""):
        shown = f"{default:g}" if isinstance(default, float) else default
        help += f" (default: {shown})"
    made: T = field(
        default=default,
        metadata={
            "is_positional": is_positional,
            "is_fixed": is_fixed,
            "argparse": {"help": help, **keywords},
        },
    )
    return made


def positive(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def seconds(text: str) -> float:
    """A finite number of seconds, 0 or more."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise ArgumentTypeError(f"{text!r} is not a number of seconds")
    return value


def node_counts(text: str) -> tuple[int, ...]:
    """The node counts in ``8,4,2,1``: each once, the largest first."""
    return tuple(sorted({positive(word.strip()) for word in text.split(",")}, reverse=True))


def fail_on() -> str | None:
    """The option of every command that ends with the exit code of a report."""
    return option(
        None, "end with exit code 1 also if there is such a finding, or a worse one",
        choices=("warning", "error"),
    )  # fmt: skip


def names(text: str) -> list[str]:
    """The names in ``a,b``."""
    return [name.strip() for name in text.split(",") if name.strip()]


@dataclass(frozen=True, kw_only=True)
class SuiteOptions:
    """The options of every command that reads a configuration."""

    config: str = option(
        "", "a YAML file, or the name of a shipped suite, such as ddp",
        is_positional=True, metavar="CONFIG",
    )  # fmt: skip
    select: tuple[str, ...] = option(
        (), "only these benchmarks: names, globs, groups or tags",
        is_fixed=True, type=names, action="extend", metavar="A,B",
    )  # fmt: skip
    exclude: tuple[str, ...] = option(
        (), "all benchmarks except these",
        is_fixed=True, type=names, action="extend", metavar="A,B",
    )  # fmt: skip
    override: tuple[str, ...] = option(
        (), "replace a value, for example 'resnet*.argv.--batch-size=32'",
        is_fixed=True, action="append", metavar="NAME.KEY=VALUE",
    )  # fmt: skip
    preset: str = option(
        "auto", "the preset: small, full, ...; auto is full on GPUs, and small on a CPU",
        is_fixed=True, metavar="NAME",
    )  # fmt: skip
    system: str | None = option(
        None, "a YAML file that describes the nodes, their GPUs and the sizing of batches",
        is_fixed=True, metavar="FILE",
    )  # fmt: skip
    device: str | None = option(
        None, "the kind of device to use (default: GPUs, or the CPU if there are no GPUs)",
        is_fixed=True, choices=tuple(BACKENDS),
    )  # fmt: skip
    gpus: int | None = option(
        None, "the number of devices per node; with --device cpu, the number of CPU slots",
        is_fixed=True, type=positive, metavar="N",
    )  # fmt: skip
    nodes: tuple[int, ...] = option(
        (), "the number of nodes; several numbers are the node counts of a sweep",
        is_fixed=True, type=node_counts, metavar="N[,N...]",
    )  # fmt: skip
    base: str | None = option(
        None, "the folder of runs/, data/ and venv/ "
        "(default: $MILABENCH_BASE, or the current folder)",
        metavar="DIR",
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class RunnerOptions(SuiteOptions):
    """The options of every command that may use several nodes."""

    runner: str | None = option(
        None, f"the runner profile: {', '.join(KINDS)}, or a YAML file",
        is_fixed=True, metavar="PROFILE",
    )  # fmt: skip
    numa_binding: str = option(
        "node", "bind the processes of each GPU to the cores next to it: node; or do not: none",
        is_fixed=True, choices=("node", "none"),
    )  # fmt: skip
    # Settings that override those of the profile, by their names in it. `RunnerProfile` declares
    # their flags.
    settings: Mapping[str, str | int] = field(default_factory=dict)


def profile_option() -> str:
    """The option of ``run`` and ``dry``."""
    return option(
        "never", "after the run, trace a few more steps: never, of what had a finding, or always",
        is_fixed=True, choices=("never", "on-finding", "always"),
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class RunOptions(RunnerOptions):
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
    repeat: int = option(
        1, "how many times to run each benchmark", is_fixed=True, type=positive, metavar="K"
    )
    grace: float = option(
        5.0, "the number of seconds between SIGTERM and SIGKILL",
        is_fixed=True, type=seconds, metavar="S",
    )  # fmt: skip
    gpu_poll: float | None = option(
        None, "the number of seconds between two samples of the devices; 0 turns sampling off",
        is_fixed=True, type=seconds, metavar="S",
    )  # fmt: skip
    profile: str = profile_option()
    detach: bool = option(
        False, "return as soon as the jobs are submitted; `milabench watch` follows the run",
        action="store_true",
    )  # fmt: skip
    quiet: bool = option(False, "show no progress, only the report", action="store_true")
    fail_on: str | None = fail_on()


@dataclass(frozen=True, kw_only=True)
class DryOptions(RunnerOptions):
    """The options of ``dry``."""

    repeat: int = option(1, "how many times to run each benchmark", type=positive, metavar="K")
    profile: str = profile_option()


@dataclass(frozen=True, kw_only=True)
class ResolveOptions(SuiteOptions):
    """The options of ``resolve``."""

    explain: bool = option(False, "show the file and the line of each value", action="store_true")


@dataclass(frozen=True, kw_only=True)
class InstallOptions(SuiteOptions):
    """The options of ``install``."""

    force: bool = option(
        False, "make the environments again, even if they exist", action="store_true"
    )


@dataclass(frozen=True, kw_only=True)
class RunFolderOptions:
    """The options of ``watch`` and ``cancel``."""

    run: str = option("", "the run folder", is_positional=True, metavar="RUN")


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """The options of ``report``."""

    runs: tuple[str, ...] = option(
        (), "a run folder; several runs are pooled, unless they differ",
        is_positional=True, nargs="+", metavar="RUN",
    )  # fmt: skip
    pool: bool = option(
        False, "pool runs that differ in version, commit, machine, configuration or preset",
        action="store_true",
    )  # fmt: skip
    compat: bool = option(False, "use exactly milabench's formulas", action="store_true")
    format: str = option("text", "the format of the report: text, csv or json", metavar="FORMAT")
    csv: bool = option(False, "short for --format csv", action="store_true")
    table: str | None = option(
        None,
        "show only this table: a metric of a sweep (latency, throughput, efficiency, memory, mfu, "
        "compile_s, ...), or the name of a table (steps, ranks, findings, ...)",
        metavar="TABLE",
    )
    rows: tuple[str, ...] = option(
        (), "the settings whose values are the rows of the table",
        type=names, action="extend", metavar="A,B",
    )  # fmt: skip
    cols: tuple[str, ...] = option(
        (), "the settings whose values are the columns of the table",
        type=names, action="extend", metavar="A,B",
    )  # fmt: skip
    predict: tuple[int, ...] = option(
        (), "predict the step on so many nodes, or ranks, from those that were measured",
        type=node_counts, metavar="N[,N...]",
    )  # fmt: skip
    baseline: str | None = option(
        None, "the run folder that the score is relative to", metavar="RUN"
    )
    timeline: str | None = option(
        None, "write the steps of all ranks to this file, for ui.perfetto.dev, and nothing else",
        metavar="FILE",
    )  # fmt: skip
    select: tuple[str, ...] = option(
        (), "only these benchmarks in the timeline: names or globs",
        type=names, action="extend", metavar="A,B",
    )  # fmt: skip
    config: str | None = option(
        None, "take the weights of the benchmarks from this configuration", metavar="CONFIG"
    )
    fail_on: str | None = fail_on()


Options = SuiteOptions | RunFolderOptions | ReportOptions

RECORDS: Mapping[str, type[Options]] = {
    "run": RunOptions,
    "dry": DryOptions,
    "resolve": ResolveOptions,
    "list": SuiteOptions,
    "prepare": SuiteOptions,
    "install": InstallOptions,
    "watch": RunFolderOptions,
    "cancel": RunFolderOptions,
    "report": ReportOptions,
}


def argument_name(option: Field[Any]) -> str:
    """The option's name for argparse: ``--gpu-poll`` for the field ``gpu_poll``."""
    return option.name if option.metadata["is_positional"] else f"--{option.name.replace('_', '-')}"


def fixed_options(options: RunOptions) -> list[str]:
    """The given options that are fixed when a run is created, as the command line names them."""
    given = ["CONFIG"] if options.config else []
    for option in fields(options):
        is_default = getattr(options, option.name) == option.default
        if option.metadata.get("is_fixed") and not is_default:
            given.append(argument_name(option))
    given += [SETTINGS[name].flag for name in options.settings if SETTINGS[name].is_fixed]
    return given
