"""The options of the commands that read a configuration."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

from ..config.runner_profile import KINDS, SETTINGS
from ..errors import SelectionError, shortened
from ..machine.backends import BACKENDS
from .option import (
    argument_name,
    fail_on,
    names_option,
    nodes,
    option,
    percentage,
    positive,
    seconds,
    whole,
)

CONFIG = "a YAML file, or the name of a shipped suite, such as ddp"


@dataclass(frozen=True, kw_only=True)
class SuiteOptions:
    """The options of every command that reads a configuration."""

    config: str = option("", CONFIG, is_positional=True, metavar="CONFIG")
    select: tuple[str, ...] = names_option(
        "only these: names, globs, or @NAME of a group or tag", begins="benchmarks"
    )
    exclude: tuple[str, ...] = names_option("all but these")
    override: tuple[str, ...] = option(
        (), "replace a value, for example '*.argv.--batch-size=32'",
        action="append", metavar="NAME.KEY=VALUE",
    )  # fmt: skip
    preset: str = option("auto", "small, full, ...; auto is small on a CPU", metavar="NAME")
    device: str | None = option(
        None, "the kind of devices", begins="machine", choices=tuple(BACKENDS), metavar="KIND"
    )  # fmt: skip
    gpus: int | None = option(
        None, "devices per node; with --device cpu, CPU slots", type=positive, metavar="N"
    )  # fmt: skip
    nodes: tuple[int, ...] | tuple[str, ...] = option(
        (), "how many nodes, the node counts of a sweep, or which: node[1-4,7], or @FILE",
        type=nodes, metavar="N|LIST",
    )  # fmt: skip
    system: str | None = option(
        None, "a YAML file that describes the nodes, their GPUs and the sizing of batches",
        is_rare=True, metavar="FILE",
    )  # fmt: skip
    base: str | None = option(
        None, "has runs/, data/ and venv/ (default: $MILABENCH_BASE, or this folder)",
        begins="the run and its folder", metavar="DIR",
    )  # fmt: skip

    @property
    def node_names(self) -> tuple[str, ...]:
        return tuple(node for node in self.nodes if isinstance(node, str))

    @property
    def node_counts(self) -> tuple[int, ...]:
        if names := self.node_names:
            return (len(names),)
        return tuple(node for node in self.nodes if isinstance(node, int))


@dataclass(frozen=True, kw_only=True)
class ListOptions(SuiteOptions):
    config: str = option(
        "", f"{CONFIG}; without it the shipped suites are listed",
        is_positional=True, metavar="CONFIG", nargs="?",
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ResolveOptions(SuiteOptions):
    explain: bool = option(False, "show the file and the line of each value", begins="output")


@dataclass(frozen=True, kw_only=True)
class InstallOptions(SuiteOptions):
    force: bool = option(False, "make the environments again, even if they exist")


def _settings_option() -> Mapping[str, str | int]:
    flags: dict[str, object] = {}
    for name, setting in SETTINGS.items():
        if setting.flag:
            flags[setting.flag] = {
                "dest": "settings",
                "action": "append",
                "type": partial(_named_value, name),
                "metavar": setting.metavar,
                "help": setting.help,
            }
    title = "settings that override the runner profile"
    metadata = {"is_positional": False, "begins": title, "is_rare": True, "more": flags}
    return field(default_factory=dict, metadata=metadata)


def _named_value(name: str, words: str) -> tuple[str, str | int]:
    return name, SETTINGS[name].from_flag(words)


@dataclass(frozen=True, kw_only=True)
class LaunchOptions(SuiteOptions):
    """The options of ``dry`` and of ``run``: where, how often and in which order to launch."""

    runner: str | None = option(
        None, f"where it runs: {', '.join(KINDS)}, or a YAML file",
        begins="machine", metavar="PROFILE",
    )  # fmt: skip
    numa_binding: str = option(
        "node", "bind the processes of each GPU to the cores next to it: node; or do not: none",
        is_rare=True, choices=("node", "none"),
    )  # fmt: skip
    settings: Mapping[str, str | int] = _settings_option()
    one_at_a_time: bool = option(
        False, "run nothing beside a benchmark, not even on other nodes", is_rare=True
    )
    repeat: int | None = option(
        None, "launches of each (default: 1; up to 20 with --until)",
        begins="launches", type=whole(1, 10_000), metavar="K",
    )  # fmt: skip
    until: float | None = option(
        None, "launch until the rate is known to +-, with 95 %%: 1%%",
        type=percentage, metavar="PERCENT",
    )  # fmt: skip
    shuffle: bool = option(
        False, "run the benchmarks in a random order, a new one for each repeat of all",
        is_rare=True,
    )  # fmt: skip
    seed: int | None = option(
        None, "the whole number that --shuffle makes its order from (default: a random one)",
        is_rare=True, type=whole(0, 2**63 - 1), metavar="N",
    )  # fmt: skip
    profile: str = option(
        "never", "after the run, trace a few more steps: never, of what had a finding, or always",
        is_rare=True, choices=("never", "on-finding", "always"),
    )  # fmt: skip

    @property
    def node_names(self) -> tuple[str, ...]:
        """Those of --nodes, without those of --exclude-nodes: Slurm refuses a node in both."""
        names, excluded = super().node_names, self.settings.get("exclude")
        if not names or not excluded:
            return names
        from ..node_lists import listed_nodes

        others = set(listed_nodes(str(excluded)))
        kept = tuple(name for name in names if name not in others)
        if not kept:
            raise SelectionError(f"--exclude-nodes {shortened(str(excluded))}: it leaves no node")
        return kept


@dataclass(frozen=True, kw_only=True)
class MeasureOptions(LaunchOptions):
    """The options of what measures: ``run`` and ``validate``."""

    config: str = option("", CONFIG, is_positional=True, metavar="CONFIG", nargs="?")
    spare: int = option(
        0, "nodes beside those of --nodes, for those that do not start or are lost",
        begins="machine", is_rare=True, type=positive, metavar="K",
    )  # fmt: skip
    name: str | None = option(
        None, "of the run (default: a random word and the date)",
        begins="the run and its folder", metavar="NAME",
    )  # fmt: skip
    resume: str | None = option(None, "run what has not finished in this run", metavar="RUN")
    grace: float = option(
        5.0, "the number of seconds between SIGTERM and SIGKILL",
        is_rare=True, type=seconds, metavar="S",
    )  # fmt: skip
    gpu_poll: float | None = option(
        None, "the number of seconds between two samples of the devices; 0 turns sampling off",
        is_rare=True, type=seconds, metavar="S",
    )  # fmt: skip
    detach: bool = option(
        False, "return as soon as the jobs are submitted; `milabench watch` follows the run",
        is_rare=True,
    )  # fmt: skip
    quiet: bool = option(False, "show no progress, only the report")
    fail_on: str = fail_on()


@dataclass(frozen=True, kw_only=True)
class RunOptions(MeasureOptions):
    after: str = option(
        "", "a second one, which takes turns with it and is compared",
        is_positional=True, metavar="CONFIG", nargs="?",
    )  # fmt: skip


LEVELS = ("quick", "standard", "deep")


@dataclass(frozen=True, kw_only=True)
class ValidateOptions(MeasureOptions):
    config: str = option(
        "", f"{CONFIG} (default: validate)", is_positional=True, metavar="CONFIG", nargs="?"
    )
    level: str | None = option(
        None, "how much is measured (default: quick)",
        begins="benchmarks", choices=LEVELS, metavar="LEVEL",
    )  # fmt: skip
    rehearse: bool = option(
        False, "plant faults, one after the other, and say which of them are found; with --repeat "
        "K, each K times"
    )  # fmt: skip

    def of_run(self) -> RunOptions:
        return RunOptions(
            **{each.name: getattr(self, each.name) for each in fields(MeasureOptions)}
        )


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


def _of_a_run(name: str) -> Any:
    declared = LaunchOptions.__dataclass_fields__[name]
    return field(default=declared.default, metadata=declared.metadata)


@dataclass(frozen=True, kw_only=True)
class DoctorOptions:
    # Those of a run that say where it would be.
    device: str | None = _of_a_run("device")
    gpus: int | None = _of_a_run("gpus")
    base: str | None = _of_a_run("base")
    runner: str | None = _of_a_run("runner")
    system: str | None = _of_a_run("system")
    json: bool = option(False, "print JSON, for programs", begins="output")
