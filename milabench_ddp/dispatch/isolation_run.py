"""Isolates the nodes by which a benchmark over several of them fails: probes it on some of them.

A probe is the benchmark itself, once, on a part of its nodes. It is bad if it fails or hangs. Where
the benchmark did not, it is bad if its rate per node is below ``SLOW`` of the median of probes of
as many nodes: a larger group may be slower for good reasons. A node that is lost takes no part in
later probes; its loss is told elsewhere.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from statistics import median

from msgspec.structs import replace

from ..errors import reason_of
from ..events import Outcome
from ..grouping import grouped
from ..plan.isolate import Isolation
from ..plan.probes import Probe
from ..report.partial import launch_series
from ..results.isolation import IsolationRecord, ProbeRecord, read_isolation
from ..results.run_dir import RunDir, save_state
from .benchmark_run import BenchmarkRun
from .nodes import Nodes
from .protocol import Timeouts
from .run_context import RunPlan

SLOW = 0.9
COMPARED = 4  # probes of a size; among fewer, none is slow
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

    An earlier record that is open goes on: the planner is told again what its probes showed.
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
        self._round = 1
        self._until = clock() + MOST_SECONDS
        self._running: dict[str, Probe] = {}  # by their names
        earlier = read_isolation(run, self.name)
        if earlier and earlier.is_open and earlier.whole_fails == self.record.whole_fails:
            is_same = earlier.nodes == self.record.nodes
            self.record.probes = earlier.probes if is_same else []
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
        alive = {node.name: node for node in self._nodes if node.rank in nodes.alive}
        while self.record.is_open and not self._waiting():
            self._end_round()
        if self.record.is_open:
            self._stop_at_limits(bool(alive))
        probes: list[BenchmarkRun] = []
        for probe in self._waiting() if self.record.is_open else ():
            if probes and self._plan.one_at_a_time:
                break
            names = self._in_order(probe)
            name = f"{self.name}/probe{len(self.record.probes) + len(probes)}"
            if on := [alive[node] for node in names if node in alive]:
                self._running[name] = probe
                how = self._run, self._plan, self._timeouts, self._clock
                mine = replace(self._benchmark, name=name)
                probes.append(BenchmarkRun(mine, on, *how, is_probe=True))
            else:  # the losses are told as such
                lost = ProbeRecord(name, self._round, names, names, Outcome.LOST, "", None, False)
                self.record.probes.append(lost)
        return probes

    def take(self, ended: BenchmarkRun) -> None:
        """Take a probe that has ended."""
        probe, state, verdict = self._running.pop(ended.name), ended.state, ended.verdict
        tags = [each.tag for launch in state.launches for each in launch.processes]
        series = launch_series(self._run, tags)
        rate = sum(each.mean for each in series) / len(state.nodes) if series else None
        shows = state.launches and verdict.outcome in _SHOWS
        nodes = self._in_order(probe)
        lost = tuple(node for node in nodes if node not in state.nodes)
        told = verdict.outcome, verdict.reason, rate, verdict.outcome in _BAD if shows else None
        self.record.probes.append(ProbeRecord(ended.name, self._round, nodes, lost, *told))

    def _in_order(self, probe: Probe) -> tuple[str, ...]:
        return tuple(node for node in self.record.nodes if node in probe)

    def _tries(self) -> Mapping[Probe, list[ProbeRecord]]:
        of_round = [each for each in self.record.probes if each.round == self._round]
        return grouped((frozenset(each.nodes), each) for each in of_round)

    def _waiting(self) -> list[Probe]:
        tries = self._tries()
        done = {probe for probe, tried in tries.items() if tried[-1].is_bad is not None}
        return [probe for probe in self._planner.round if probe not in done]

    def _stop_at_limits(self, has_nodes: bool) -> None:
        tries = self._tries()
        for probe in self._waiting():
            tried = tries.get(probe, [])
            if len(tried) >= TRIES:
                self.stop(f"{tried[0].name}: {tried[0].reason or 'it cannot be compared'}")
        if not has_nodes:
            self.stop("none of its nodes can be used")
        elif self._clock() > self._until:
            self.stop(f"it was not done after {self._round - 1} rounds")

    def _end_round(self) -> None:
        now, found = self.record, self._planner
        for place, probe in enumerate(now.probes) if not now.whole_fails else ():
            if probe.round == self._round and probe.size and probe.is_bad is False:
                now.probes[place] = replace(probe, is_bad=self._is_slow(probe))
        if not self._waiting():
            tries = self._tries()
            found.tell([tries[probe][-1].is_bad is True for probe in found.round])
            self._round += 1
            now.bad, now.scale, now.is_unexplained = found.bad, found.scale, found.is_unexplained
            now.is_open = bool(found.round)
        self._save()

    def _is_slow(self, probe: ProbeRecord) -> bool | None:
        alike = (each.rate for each in self.record.probes if each.size == probe.size)
        rates = [rate for rate in alike if rate is not None]
        if probe.rate is None or len(rates) < COMPARED:
            return None
        return probe.rate < SLOW * median(rates)

    def stop(self, reason: str) -> None:
        self.record.why_stopped, self.record.is_open = reason, False
        self._save()

    def fail(self, error: Exception) -> None:
        """End it after an internal error; the record says so if it can be written."""
        with suppress(Exception):
            self.stop(reason_of(error))

    def _save(self) -> None:
        save_state(self._run, self._run.isolation_json(self.name), self.record)
