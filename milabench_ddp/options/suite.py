"""The options of the commands that read a configuration."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..config.runner_profile import KINDS
from ..machine.backends import BACKENDS
from .option import names, node_counts, option, positive


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
