"""The options that ``dry`` and ``run`` have in common."""

from dataclasses import dataclass
from functools import partial

from .option import integer, option, percentage, positive
from .suite import RunnerOptions

MOST_REPEATS = 10_000


@dataclass(frozen=True, kw_only=True)
class LaunchOptions(RunnerOptions):
    """The options of ``dry`` and of ``run``: how often and in which order to launch."""

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
