"""Where the time of a step goes, and how long it would take without its stragglers.

Ranks that train together end their communication together. So in each step the rank that is exposed
least came last, and what it is exposed is communication; what another rank is exposed beyond that,
it waits for a slower one. No common clock is needed. (J. Lin et al., "Understanding stragglers in
large model training using what-if analysis", OSDI 2025, replay all operations of a step; here a
step is the longest own work of all ranks, and then communication. Where ranks wait for each other
several times in a step, as under FSDP, a different rank may come last each time: then a part of the
waits counts as communication.)
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...results.records import Record
from .rank_launch import EXPOSED, steady_launch, undisturbed
from .rank_summary import RankId, UnsteadyOf, rank_id

if TYPE_CHECKING:
    from ..statistics.values import Floats

BEHIND = frozenset({"optimizer", "host"})  # the parts behind the communication of a step
COMMUNICATION, WAITING, JITTER = "communication", "waiting", "jitter"


@dataclass(frozen=True)
class LaunchTimes:
    """The times of all ranks in one launch, in ms: a row for each rank, a column for each step."""

    ids: tuple[RankId, ...]
    parts: "Mapping[str, Floats]"  # the own work, by part of the step
    exposed: "Floats"

    @property
    def communication(self) -> "Floats":
        """The communication in each step, which is the same for all ranks."""
        least: Floats = self.exposed.min(axis=0)
        return least

    @property
    def whole(self) -> "Floats":
        """The steps themselves."""
        return sum(self.parts.values(), start=self.exposed)

    def ledger(self) -> "dict[str, Floats]":
        """The items of a step of each rank, which add up to the mean of its steps.

        Own work, communication and waiting are those of the median step, except for data, which
        loaders bunch: there it is the mean. What the mean step takes beyond that is ``JITTER``.
        """
        import numpy as np

        items = {name: np.median(times, axis=1) for name, times in self.parts.items()}
        if "data" in items:
            items["data"] = self.parts["data"].mean(axis=1)
        items[COMMUNICATION] = np.full(len(self.ids), np.median(self.communication))
        items[WAITING] = np.median(self.exposed - self.communication, axis=1)
        items[JITTER] = self.whole.mean(axis=1) - sum(items.values())
        return items

    def rounds(self) -> "Floats":
        """The own work of each rank from one communication to the next.

        The parts behind the communication of a step are before that of the next one.
        """
        found: Floats = 0.0 * self.exposed[:, 1:]
        for name, times in self.parts.items():
            found += times[:, :-1] if name in BEHIND else times[:, 1:]
        return found

    def steps(self, slow: Collection[RankId] = ()) -> "Floats":
        """The time of each step if the ``slow`` ranks were as fast as the others.

        A step ends when the last rank has done its own work, and all have communicated. A slow rank
        is made faster by the same factor in each step. Without one, these are the steps themselves.
        """
        import numpy as np

        own = self.rounds()
        levels = np.array([undisturbed(times) for times in own])
        is_slow = np.array([id in slow for id in self.ids])
        if is_slow.any() and not is_slow.all():
            typical = np.median(levels[~is_slow])
            own[is_slow] *= (typical / levels[is_slow])[:, None]
        found: Floats = own.max(axis=0) + self.communication[1:]
        return found


def launch_times(record: Record, unsteady_of: UnsteadyOf, fewest: int = 2) -> LaunchTimes | None:
    """The times of the ranks of a process, in the steady state; None if they are not known.

    They are known if at least the ``fewest`` ranks, and all, tell the same number of steps, with
    what is exposed of each.
    """
    import numpy as np

    launches = []
    for rank in record.ranks.values():
        launches.append(steady_launch(record, rank, unsteady_of(len(rank.ms))))
    forms = {(len(launch.ms), frozenset(launch.parts)) for launch in launches}
    if len(launches) < fewest or len(forms) > 1 or EXPOSED not in launches[0].parts:
        return None
    parts: dict[str, Floats] = {}
    for name in launches[0].parts:
        parts[name] = np.array([launch.parts[name] for launch in launches])
    exposed = parts.pop(EXPOSED)
    return LaunchTimes(tuple(rank_id(record, n) for n in record.ranks), parts, exposed)
