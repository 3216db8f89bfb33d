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

from msgspec import Struct
from msgspec.structs import replace

from ...numerics import Floats, Marks, np
from ...results.records import Record
from .overlap import Overlap, overlap_of
from .pipelines import Pipelines, pipelines_of
from .rank_launch import EXPOSED, undisturbed
from .rank_summary import RankId, UnsteadyOf, rank_launches

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
    pipelines: Pipelines = Pipelines()
    meeting: frozenset[str] = frozenset()  # the parts at whose beginning ranks wait for each other
    overlap: Overlap | None = None  # of DDP; None if it is not known

    def _by_pipeline(self, of_ranks: Floats) -> Floats:
        """By pipeline and place in it: of shape (ranks, steps), to (pipelines, places, steps)."""
        return of_ranks.reshape(-1, self.pipelines.size, of_ranks.shape[-1])

    @property
    def least(self) -> Floats:
        """What the least exposed of the ranks with the same stages is exposed in each step."""
        pipelines = self._by_pipeline(self.exposed)
        return np.tile(pipelines.min(axis=0), (len(pipelines), 1))

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
        return sum(self._between_waits(), start=0.0 * self.exposed[:, 1:])

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
            faster = own + longer[:, None]
            factors = self._factors(undisturbed(faster), is_slow)
            found += self.pipelines.longest(faster * factors) - self.pipelines.longest(own)
        return found

    def _factors(self, levels: Floats, is_slow: Marks) -> Floats:
        """What makes the slow ranks as fast as those with the same stages; shape (ranks, 1)."""
        factors = np.ones((len(levels), 1))
        for place in range(self.pipelines.size):
            peers = np.arange(len(levels)) % self.pipelines.size == place
            fast, late = peers & ~is_slow, peers & is_slow & (levels > 0)
            if fast.any():
                factors[late, 0] = np.median(levels[fast]) / levels[late]
        return factors

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
        own: Floats = self._by_pipeline(self.rounds()).mean(axis=2).mean(axis=0)
        return own

    def even_steps(self) -> Floats:
        """The time of each step if all ranks of a pipeline had the same own work."""
        own, longest = self.rounds(), self.pipelines.longest
        even = self._by_pipeline(own).mean(axis=1).repeat(self.pipelines.size, axis=0)
        return self.steps() - (longest(own) - longest(even))


def launch_times(record: Record, unsteady_of: UnsteadyOf, fewest: int = 2) -> LaunchTimes | None:
    """The times of the ranks of a process, in the steady state; None if they are not known.

    They are known if at least the ``fewest`` ranks, and all, tell the same number of steps, with
    what is exposed of each.
    """
    pipelines, numbers = pipelines_of(record), sorted(record.ranks)
    found = rank_launches(record, unsteady_of)
    launches = [launch for _, launch in found]
    forms = {(len(launch.ms), frozenset(launch.parts)) for launch in launches}
    if len(launches) < fewest or len(forms) > 1 or EXPOSED not in launches[0].parts:
        return None
    whole = len(numbers) % pipelines.size == 0 and numbers[-1] + 1 == len(numbers)
    if pipelines.size > 1 and not whole:  # some ranks are missing
        return None
    parts = {
        name: np.array([launch.parts[name] for launch in launches]) for name in launches[0].parts
    }
    exposed = parts.pop(EXPOSED)
    meeting = MEETING.get(str(record.reported("model").get("mode")), frozenset())
    overlap = None
    if "backward" in parts and not meeting and pipelines.size == 1 and len(launches) > 1:
        overlap = overlap_of([launch.rank for launch in launches], parts["backward"])
    ids = tuple(id for id, _ in found)
    return LaunchTimes(ids, parts, exposed, pipelines, meeting, overlap)
