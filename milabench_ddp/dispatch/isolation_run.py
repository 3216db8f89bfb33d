"""Isolates the nodes by which a benchmark over several of them fails: probes it on some of them.

A probe is the benchmark itself, once, on a part of its nodes. It is bad if it fails or hangs. Where
the benchmark did not, it is bad if its rate per node is below ``SLOW`` of the median of probes of
as many nodes: a larger group may be slower for good reasons. A node that is lost takes no part in
later probes; its loss is told elsewhere.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from statistics import median

from msgspec.structs import replace

from ..errors import reason_of
from ..events import Outcome
from ..plan.isolate import Isolation, Probe
from ..report.partial import launch_series
from ..results.isolation import IsolationRecord, ProbeRecord, read_isolation
from ..results.read_state import ignore
from ..results.run_dir import RunDir, save_state
from .benchmark_run import BenchmarkRun
from .nodes import Nodes
from .protocol import Timeouts
from .run_context import RunPlan

SLOW = 0.9
COMPARED = 4  # probes of a size; among fewer, none is slow
MOST_ROUNDS = 200
MOST_SECONDS = 3600.0  # after which no round begins
TRIES = 3  # of a probe that shows nothing, since it could not be run to its end
_BAD = (Outcome.FAILED, Outcome.TIMEOUT)
_SHOWS = (*_BAD, Outcome.OK)


def can_isolate(ended: BenchmarkRun) -> bool:
    """Whether a benchmark that has ended is to be probed: it has run, on nodes enough to compare.

    One that is lost is lost with a node, which is known.
    """
    least, outcome = ended.benchmark.isolate, ended.verdict.outcome
    if least is None or not ended.state.launches or ended.state.interrupted:
        return False
    enough = COMPARED * least if outcome is Outcome.OK else 2
    return outcome in _SHOWS and len(ended.nodes) >= enough


class IsolationRun:
    """The isolation of one benchmark; its record on disk is open until it ends.

    An earlier record that is open goes on, if it is of the same nodes.
    """

    def __init__(
        self,
        ended: BenchmarkRun,
        run: RunDir,
        plan: RunPlan,
        timeouts: Timeouts,
        clock: Callable[[], float],  # monotonic seconds
    ) -> None:
        self._run, self._timeouts, self._clock = run, timeouts, clock
        self._plan = replace(plan, repeats=1, until=None, seed=None)
        self._benchmark, self._nodes = ended.benchmark, ended.nodes
        self.record = IsolationRecord(ended.state.nodes, whole_fails=not ended.verdict.is_ok)
        self._planner = Isolation(
            self.record.nodes,
            whole_fails=self.record.whole_fails,
            least=self._benchmark.isolate or 1,
        )
        self._round, self._tries = 1, 0
        self._until = clock() + MOST_SECONDS
        self._running: dict[str, Probe] = {}  # by their names
        self._ended: dict[Probe, ProbeRecord] = {}  # of this round
        self._known: dict[Probe, bool] = {}  # of this round, whether they are bad
        earlier = read_isolation(run, self.name, ignore)
        if earlier and earlier.is_open and earlier.nodes == self.record.nodes:
            self._repeat(earlier.probes if earlier.whole_fails == self.record.whole_fails else ())
        self._save()

    @property
    def name(self) -> str:
        return self._benchmark.name

    @property
    def progress(self) -> str:
        """What it does, or has found."""
        if self.record.is_open:
            count = len(self._running)
            return f"round {self._round}, {count} probe{'s' * (count > 1)}"
        found = ["+".join(each.nodes) for each in self.record.bad]
        if self.record.scale is not None:
            found.append(f"{self.record.scale} nodes or more")
        return self.record.why_stopped or f"found {', '.join(found) or 'nothing'}"

    def begin(self, nodes: Nodes) -> list[BenchmarkRun]:
        """The next probes, on those of their nodes that can be used; none runs any more."""
        usable = set(nodes.alive)
        alive = {node.name for node in self._nodes if node.rank in usable}
        if {*self._known, *self._ended} >= {*self._planner.round}:
            self._end_round()
        if self.record.is_open and not alive:
            self.stop("none of its nodes can be used")
        elif self.record.is_open and (self._round > MOST_ROUNDS or self._clock() > self._until):
            self.stop(f"it was not done after {self._round - 1} rounds")
        probes: list[BenchmarkRun] = []
        for probe in self._planner.round if self.record.is_open else ():
            if probe in self._known or probe in self._ended:
                continue
            if probes and self._plan.one_at_a_time:
                break
            on = [node for node in self._nodes if node.name in probe & alive]
            place = len(self.record.probes) + len(self._ended) + len(probes)
            name = f"{self.name}/probe{place}"
            if on:
                self._running[name] = probe
                how = self._run, self._plan, self._timeouts, self._clock
                probes.append(BenchmarkRun(replace(self._benchmark, name=name), on, *how))
            else:
                self._known[probe] = False  # all its nodes are lost, which is told as such
        return probes

    def take(self, ended: BenchmarkRun) -> None:
        """Take a probe that has ended."""
        probe, state, verdict = self._running.pop(ended.name), ended.state, ended.verdict
        series = launch_series(
            self._run, [each.tag for launch in state.launches for each in launch.processes]
        )
        nodes = tuple(node for node in self.record.nodes if node in probe)
        self._ended[probe] = ProbeRecord(
            ended.name,
            self._round,
            nodes,
            tuple(node for node in nodes if node not in state.nodes),
            verdict.outcome,
            verdict.reason,
            sum(each.mean for each in series) / len(state.nodes) if series else None,
            verdict.outcome in _BAD if state.launches and verdict.outcome in _SHOWS else None,
        )

    def _end_round(self) -> None:
        ended = list(self._ended.values())
        self.record.probes += ended
        self._ended.clear()
        unknown = []
        for place, probe in enumerate(ended, len(self.record.probes) - len(ended)):
            if probe.is_bad is False and not self.record.whole_fails:
                probe = self.record.probes[place] = replace(probe, is_bad=self._is_slow(probe))
            if probe.is_bad is None:
                unknown.append(probe)
            else:
                self._known[frozenset(probe.nodes)] = probe.is_bad
        self._tries += bool(unknown)
        if self._tries == TRIES:
            self.stop(f"{unknown[0].name}: {unknown[0].reason or 'it cannot be compared'}")
        elif not unknown:
            self._tell()
        self._save()

    def _is_slow(self, probe: ProbeRecord) -> bool | None:
        alike = (each.rate for each in self.record.probes if each.size == probe.size)
        rates = [rate for rate in alike if rate is not None]
        if probe.rate is None or len(rates) < COMPARED:
            return None
        return probe.rate < SLOW * median(rates)

    def _repeat(self, probes: Iterable[ProbeRecord]) -> None:
        """Tell the planner what an earlier attempt has probed."""
        for probe in probes:
            if probe.round != self._round:
                return  # the one before was not complete
            self.record.probes.append(probe)
            if probe.is_bad is not None:
                self._known[frozenset(probe.nodes)] = probe.is_bad
            if self._known.keys() >= {*self._planner.round}:
                self._tell()

    def _tell(self) -> None:
        self._planner.tell([self._known[probe] for probe in self._planner.round])
        self._round, self._tries = self._round + 1, 0
        self._known.clear()
        now, found = self.record, self._planner
        now.bad, now.scale, now.is_unexplained = found.bad, found.scale, found.is_unexplained
        now.is_open = bool(found.round)

    def stop(self, reason: str) -> None:
        self.record.why_stopped, self.record.is_open = reason, False
        self._save()

    def fail(self, error: Exception) -> None:
        """End it after an internal error; the record says so if it can be written."""
        with suppress(Exception):
            self.stop(reason_of(error))

    def _save(self) -> None:
        save_state(self._run, self._run.isolation_json(self.name), self.record)
