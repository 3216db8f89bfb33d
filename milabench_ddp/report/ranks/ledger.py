"""Where the time of a step goes, and how long it would take without its stragglers.

Ranks that train together end their communication together. So in each step the rank that is exposed
least came last, and what it is exposed is communication; what another rank is exposed beyond that,
it waits for a slower one. No common clock is needed. (J. Lin et al., "Understanding stragglers in
large model training using what-if analysis", OSDI 2025, replay all operations of a step; here a
step is the longest own work of all ranks, and then communication. Where ranks wait for each other
several times in a step, as under FSDP, a different rank may come last each time: then a part of the
waits counts as communication, and a step is the longest forward pass, the longest backward pass and
the longest of what is between them.)

The ranks of a pipeline do different work. There a rank is compared with those that have the same
stages in other pipelines: what the least exposed of them is exposed is their bubble, with messages
and the sum of gradients over the pipelines. Of a single pipeline it is all that is exposed.
"""

from collections.abc import Collection, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from ...numerics import Floats, Marks, np
from ...results.records import Record
from .overlap import Overlap, overlap_of
from .pipelines import Pipelines, pipelines_of
from .rank_launch import EXPOSED, steady_launch, undisturbed
from .rank_summary import RankId, UnsteadyOf, rank_id

BEHIND = frozenset({"optimizer", "host"})  # the parts behind the communication of a step
# In these modes ranks wait for each other in the forward and in the backward pass
MEETING: Mapping[str, frozenset[str]] = dict.fromkeys(
    ("fsdp", "hsdp", "tp", "tp-fsdp"), frozenset({"forward", "backward"})
)
COMMUNICATION, BUBBLE, WAITING, JITTER = "communication", "bubble", "waiting", "jitter"


class LaunchTimes(Struct, frozen=True):
    """The times of all ranks in one launch, in ms: a row for each rank, a column for each step."""

    ids: tuple[RankId, ...]
    parts: Mapping[str, Floats]  # the own work, by part of the step
    exposed: Floats
    pipelines: Pipelines = field(default_factory=Pipelines)
    meeting: frozenset[str] = frozenset()  # the parts at whose beginning ranks wait for each other
    overlap: Overlap | None = None  # of DDP; None if it is not known

    @property
    def least(self) -> Floats:
        """What the least exposed of the ranks with the same stages is exposed in each step."""
        size = self.pipelines.size
        by_pipeline = self.exposed.reshape(-1, size, self.exposed.shape[1])
        found: Floats = np.tile(by_pipeline.min(axis=0), (len(by_pipeline), 1))
        return found

    @property
    def communication(self) -> Floats:
        least: Floats = self.exposed.min(axis=0)
        return least

    @property
    def whole(self) -> Floats:
        return sum(self.parts.values(), start=self.exposed)

    def ledger(self) -> dict[str, Floats]:
        """The items of a step of each rank, which add up to the mean of its steps.

        Own work, communication and waiting are those of the median step, except for data, which
        loaders bunch: there it is the mean. What the mean step takes beyond that is ``JITTER``.
        """
        items = {name: np.median(times, axis=1) for name, times in self.parts.items()}
        if "data" in items:
            items["data"] = self.parts["data"].mean(axis=1)
        between = BUBBLE if self.pipelines.size > 1 else COMMUNICATION
        items[between] = np.median(self.least, axis=1)
        items[WAITING] = np.median(self.exposed - self.least, axis=1)
        items[JITTER] = self.whole.mean(axis=1) - sum(items.values())
        return items

    def rounds(self) -> Floats:
        """The own work of each rank in each step, from its last communication to the next one's.

        The parts behind the communication of a step are before that of the next one.
        """
        found: Floats = sum(self._between_waits(), start=0.0 * self.exposed[:, 1:])
        return found

    def _between_waits(self) -> list[Floats]:
        """The terms of ``rounds``: from one wait for other ranks to the next."""
        terms = dict.fromkeys(("", *(self.meeting & set(self.parts))), 0.0 * self.exposed[:, 1:])
        for name, times in self.parts.items():
            of_step = times[:, :-1] if name in BEHIND else times[:, 1:]
            term = name if name in terms else ""
            terms[term] = terms[term] + of_step
        return list(terms.values())

    def steps(self, slow: Collection[RankId] = ()) -> Floats:
        """The time of each step if the ``slow`` ranks were as fast as the others.

        A step ends when the last rank, or pipeline, has done its own work, and all have
        communicated. A slow rank is made faster by the same factor in each step. Without one, these
        are the steps themselves. Where the overlap of DDP is known, it is heeded: see there.
        """
        is_slow = np.array([id in slow for id in self.ids])
        found: Floats = (self.rounds() + self.exposed[:, 1:]).mean(axis=0)
        longer = np.zeros(len(self.ids))
        if self.overlap is not None and is_slow.any() and not is_slow.all():
            longer, exposed = self.overlap.without(is_slow)
            found += exposed
        for own in self._between_waits():
            now = self.pipelines.longest(own)
            found += self.pipelines.longest(self._without(own + longer[:, None], is_slow)) - now
        return found

    def _without(self, own: Floats, is_slow: Marks) -> Floats:
        size = self.pipelines.size
        levels = undisturbed(own)
        factors = np.ones(len(own))
        for place in range(size):
            peers = np.arange(len(own)) % size == place
            fast = peers & ~is_slow
            late = peers & is_slow & (levels > 0)
            if fast.any():
                factors[late] = np.median(levels[fast]) / levels[late]
        found: Floats = own * factors[:, None]
        return found

    def slower(self) -> "LaunchTimes":
        """The same, if communication slows own work by as much more as may be."""
        return replace(self, overlap=self.overlap and self.overlap.slower())

    def hidden_steps(self) -> Floats:
        """The time of each step if all communication were hidden: the longest own work.

        Where the overlap of DDP is known, own work is slower for all of it.
        """
        own = self.rounds()
        if self.overlap is not None:
            own += self.overlap.longer(self.overlap.whole)[:, None]
        found: Floats = own.max(axis=0)
        return found

    def own_by_place(self) -> Floats:
        """The mean own work of a step, in each place of the pipelines."""
        own, size = self.rounds().mean(axis=1), self.pipelines.size
        found: Floats = own.reshape(-1, size).mean(axis=0)
        return found

    def even_steps(self) -> Floats:
        """The time of each step if all ranks of a pipeline had the same own work."""
        own, size = self.rounds(), self.pipelines.size
        by_pipeline = own.reshape(-1, size, own.shape[1])
        even = by_pipeline.mean(axis=1).repeat(size, axis=0)
        longer: Floats = self.pipelines.longest(own) - self.pipelines.longest(even)
        found: Floats = self.steps() - longer
        return found


def launch_times(record: Record, unsteady_of: UnsteadyOf, fewest: int = 2) -> LaunchTimes | None:
    """The times of the ranks of a process, in the steady state; None if they are not known.

    They are known if at least the ``fewest`` ranks, and all, tell the same number of steps, with
    what is exposed of each.
    """
    launches, pipelines = [], pipelines_of(record)
    numbers = sorted(record.ranks)
    for rank in (record.ranks[number] for number in numbers):
        launches.append(steady_launch(record, rank, unsteady_of(len(rank.ms))))
    forms = {(len(launch.ms), frozenset(launch.parts)) for launch in launches}
    if len(launches) < fewest or len(forms) > 1 or EXPOSED not in launches[0].parts:
        return None
    whole = len(numbers) % pipelines.size == 0 and numbers[-1] + 1 == len(numbers)
    if pipelines.size > 1 and not whole:  # some ranks are missing
        return None
    parts: dict[str, Floats] = {}
    for name in launches[0].parts:
        parts[name] = np.array([launch.parts[name] for launch in launches])
    exposed = parts.pop(EXPOSED)
    ids = tuple(rank_id(record, number) for number in numbers)
    meeting = MEETING.get(str(record.reported("model").get("mode")), frozenset())
    overlap = None
    if "backward" in parts and not meeting and pipelines.size == 1 and len(launches) > 1:
        overlap = overlap_of([record.ranks[number] for number in numbers], parts["backward"])
    return LaunchTimes(ids, parts, exposed, pipelines, meeting, overlap)
