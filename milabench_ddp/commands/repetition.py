"""How often benchmarks are launched, and in which order."""

from msgspec import Struct

from ..config.runner_profile import RunnerProfile
from ..errors import SelectionError
from ..options.suite import LaunchOptions
from ..plan.planner import new_seed
from .setup import is_scheduler


class Repetition(Struct, frozen=True):
    """How often and in which order benchmarks are launched."""

    most: int  # launches of each
    until: float | None  # the half width of intervals that ends them, as a fraction of the rate
    seed: int | None  # of the random order

    @property
    def notes(self) -> list[str]:
        notes = []
        if self.seed is not None:
            notes.append(f"in random order: --shuffle --seed {self.seed}")
        if self.until is not None:
            from ..report.statistics.stopping import LEAST
            from ..table import given_percent_text

            notes.append(
                f"--until {given_percent_text(self.until)}: `run` makes {LEAST} to {self.most} "
                f"launches of each benchmark, as many as it needs; these are {self.most}"
            )
        return notes


def repetition_of(options: LaunchOptions, profile: RunnerProfile | None) -> Repetition:
    if options.seed is not None and not options.shuffle:
        raise SelectionError("--seed is of a random order: add --shuffle")
    is_separate = profile is not None and profile.allocation == "separate"
    if options.shuffle and is_separate and is_scheduler(profile):
        raise SelectionError(
            "--shuffle: with a job for each benchmark, Slurm decides what runs when: "
            "add --allocation shared"
        )
    most = options.repeat or 1
    if options.until is not None:
        from ..dispatch.repeats import MOST
        from ..report.statistics.stopping import LEAST

        most = options.repeat or MOST
        if most < LEAST:
            raise SelectionError(f"--until needs at least {LEAST} launches: give --repeat {LEAST}")
    seed = options.seed
    if options.shuffle and seed is None:
        seed = new_seed()
    return Repetition(most, options.until, seed)
