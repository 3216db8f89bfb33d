"""Runs the benchmarks of a plan on nodes that may come late and may be lost.

The coordinator starts benchmarks on free nodes and keeps the state of each on disk. If a node is
lost, its benchmark is lost too, and a benchmark that this program cannot run, plan or save has
failed; the other benchmarks go on.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack

from ..config.schema import VALIDATE, Benchmark
from ..errors import RunDirError, contained, reason_of
from ..events import Clock, Outcome, Status, Verdict
from ..hostlist import shown_nodes
from ..launch.stop_requests import StopRequests
from ..plan.planner import place
from ..progress import ProgressObserver
from ..results.run_dir import RunDir
from ..results.state import overall
from .benchmark_run import BenchmarkRun
from .failing_nodes import keep_evidence
from .isolation_run import IsolationRun, can_isolate
from .nodes import NodeHandle, NodeLost, Nodes
from .placement import pick
from .protocol import AwakeClock, FromAgent, LaunchEnded, Ports, Signalled, Timeouts
from .repeats import next_repeat, tell_launches
from .run_context import RunPlan, end_unrun

_SHOWN = 3  # how many of the nodes that cannot be used a reason describes
NEVER_BEGAN = Verdict(Outcome.CANCELLED, "stopped before it began")


class Coordinator:
    """Runs benchmarks until all have ended, or until it is asked to stop.

    Args:
        why_stopped: in a job of a scheduler, gives the reason why the job was asked to stop, as the
            verdict on the benchmarks that it interrupts. The others then stay waiting, since the
            job may start again.
    """

    def __init__(
        self,
        run: RunDir,
        plan: RunPlan,
        benchmarks: Sequence[Benchmark],
        nodes: Nodes,
        requests: StopRequests,
        observer: ProgressObserver,
        timeouts: Timeouts | None = None,
        why_stopped: Callable[[], Verdict] | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._run, self._plan, self._nodes = run, plan, nodes
        self._requests, self._observer = requests, observer
        self._timeouts, self._clock = timeouts or Timeouts(), clock or AwakeClock()
        self._waiting = {benchmark.name: benchmark for benchmark in benchmarks}
        self._running: dict[str, BenchmarkRun] = {}
        self._paused: dict[str, BenchmarkRun] = {}
        self._isolations: list[IsolationRun] = []  # one at a time, when all else has ended
        self._probes: dict[str, IsolationRun] = {}  # that run, by their names
        # of a shuffled run that is resumed: what comes before has run
        self._first_repeats = {name: next_repeat(run, name) for name in self._waiting}
        self._side = 0
        self._outcomes: set[Outcome] = set()
        self.unwritten: dict[str, str] = {}  # reasons of benchmarks whose states are not on disk
        self._why_stopped = why_stopped
        self.stopped_as: Verdict | None = None  # the verdict on interrupted benchmarks

    def execute(self, *others: "Coordinator") -> Outcome:
        sides = (self, *others)
        with ExitStack() as stack:
            for number, each in enumerate(sides):
                each._side = number
                stack.enter_context(each._nodes)
                stack.callback(each._leave)
            while left := [it for it in sides if it._has_work]:
                min(left, key=Coordinator._turn)._step()
            if not self._requests.stops:
                tell = self._observer.message
                with contained(lambda error: tell(f"no evidence is kept: {reason_of(error)}")):
                    keep_evidence(
                        self._run, self._plan, self._nodes, tell, self._timeouts, self._clock
                    )
        return self.outcome

    @property
    def outcome(self) -> Outcome:
        return Outcome.CANCELLED if self._requests.stops else overall(map(Status, self._outcomes))

    @property
    def _has_work(self) -> bool:
        return bool(self._waiting or self._running or self._paused or self._isolations)

    def _leave(self) -> None:
        for benchmark in (*self._running.values(), *self._paused.values()):
            benchmark.leave()  # after an error; its nodes end its processes

    def _turn(self) -> tuple[int | bytes, ...]:
        left = (*self._waiting, *self._paused)
        is_free = not self._running and self._plan.seed is not None
        return min(map(self._place, left)) if is_free and left else ()

    def _step(self) -> None:
        if not self._requests.stops:
            self._begin()
        for node, message in self._nodes.receive(self._timeouts.heartbeat):
            self._handle(node, message)
        self._requests.clear()
        if self._requests.stops:
            self._stop()
        for benchmark in list(self._running.values()):
            before = len(benchmark.state.launches)
            with contained(benchmark.fail):
                benchmark.advance()
            if len(benchmark.state.launches) > before:
                self._tell_launches(benchmark)
            if benchmark.has_ended:
                self._ended(benchmark)
            elif benchmark.state.is_paused:
                self._paused[benchmark.name] = self._running.pop(benchmark.name)

    def _handle(self, node: NodeHandle, message: FromAgent | NodeLost) -> None:
        if isinstance(message, Signalled):
            # The scheduler signals all nodes of its job: together that is one request.
            if self._why_stopped is not None and not self._requests.stops:
                self._requests.stop()
            return
        benchmark = self._running.get(node.benchmark or "")
        if benchmark is None:
            return
        with contained(benchmark.fail):
            match message:
                case Ports(launch, ports):
                    benchmark.start_everywhere(launch, ports)
                case LaunchEnded(launch, state):
                    benchmark.ended(node, launch, state.behind(node.ahead))
                case NodeLost():
                    benchmark.lose(node, message)

    def _begin(self) -> None:
        nodes = self._nodes
        if self._isolations and not (self._waiting or self._paused or self._running):
            self._isolate(self._isolations[0])
        if not (self._waiting or self._paused) or nodes.is_gathering:
            return
        free = nodes.free
        if self._running and (self._plan.one_at_a_time or not free):
            return
        sizes, own = self._in_order(), {}
        for name, benchmark in self._paused.items():
            own[name] = [node.rank for node in benchmark.nodes]
        is_shuffled = self._plan.seed is not None
        picked = pick(sizes, free, nodes.alive, own, largest_first=not is_shuffled)
        for name, ranks in picked[:1] if self._plan.one_at_a_time else picked:
            if name in self._paused:
                again = self._running[name] = self._paused.pop(name)
                self._tell_begin(again)
                with contained(again.fail):
                    again.go_on()
            else:
                self._start(self._waiting.pop(name), [nodes[rank] for rank in ranks])
        if self._running or nodes.may_grow:
            return
        alive = len(nodes.alive)
        for name, size in sizes.items():
            if name in self._waiting and size > alive:
                # the same for all that need more, so that a report tells it once
                reason = f"too few nodes: {alive} of {self._plan.nodes} can be used"
                if problems := "; ".join(nodes.problems[:_SHOWN]):
                    reason = f"{reason}: {problems}"
                self._end_unstarted(self._waiting.pop(name), Verdict(Outcome.LOST, reason))
        for name, benchmark in list(self._paused.items()):
            if gone := [node.name for node in benchmark.nodes if not node.is_alive]:
                del self._paused[name]
                self._end(benchmark, Verdict(Outcome.LOST, f"it runs on {shown_nodes(gone)}: lost"))

    def _in_order(self) -> dict[str, int]:
        sizes = {name: self._size(each) for name, each in self._waiting.items()}
        sizes |= {name: len(each.nodes) for name, each in self._paused.items()}
        if self._plan.seed is None:
            return sizes
        return {name: sizes[name] for name in sorted(sizes, key=self._place)}

    def _size(self, benchmark: Benchmark) -> int:
        """The nodes that it needs; one that judges all nodes judges those that there are."""
        size = benchmark.size(self._plan.nodes)
        is_of_all = benchmark.num_machines is None and VALIDATE in benchmark.tags
        return max(1, min(size, len(self._nodes.alive))) if is_of_all else size

    def _place(self, name: str) -> tuple[int | bytes, ...]:
        paused = self._paused.get(name)
        repeat = paused.next_repeat if paused else self._first_repeats[name]
        return place(name, repeat, self._plan.seed or 0, self._side)

    def _start(self, benchmark: Benchmark, nodes: Sequence[NodeHandle]) -> None:
        started = BenchmarkRun(benchmark, nodes, self._run, self._plan, self._timeouts, self._clock)
        self._running[benchmark.name] = started
        self._tell_begin(started)
        with contained(started.fail):
            started.start()
        if started.has_ended:
            self._ended(started)
        elif started.state.launches:  # of an earlier attempt
            self._tell_launches(started)

    def _isolate(self, isolation: IsolationRun) -> None:
        probes: list[BenchmarkRun] = []
        with contained(isolation.fail):
            probes = isolation.begin(self._nodes)
        if not isolation.record.is_open:
            self._isolations.remove(isolation)
        if probes or not isolation.record.is_open:
            self._observer.message(f"isolation of {isolation.name}: {isolation.progress}")
        for probe in probes:
            self._running[probe.name], self._probes[probe.name] = probe, isolation
            with contained(probe.fail):
                probe.start()
            if probe.has_ended:
                self._ended(probe)

    def _tell_launches(self, benchmark: BenchmarkRun) -> None:
        if benchmark.state.repeats.expected > 1 and not self._requests.stops:
            tell_launches(benchmark.state, self._observer)

    def _tell_begin(self, begun: BenchmarkRun) -> None:
        names = begun.state.nodes if self._plan.nodes > 1 else ()
        self._observer.begin(begun.name, names, begun.benchmark.max_duration)

    def _end(self, benchmark: BenchmarkRun, verdict: Verdict) -> None:
        with contained(benchmark.fail):
            benchmark.finish(verdict)
        self._ended(benchmark)

    def _ended(self, benchmark: BenchmarkRun) -> None:
        self._running.pop(benchmark.name, None)
        if isolation := self._probes.pop(benchmark.name, None):
            with contained(isolation.fail):
                isolation.take(benchmark)
            return
        if not self._requests.stops and can_isolate(benchmark):
            with contained(lambda error: self._observer.message(reason_of(error))):
                self._isolations.append(
                    IsolationRun(benchmark, self._run, self._plan, self._timeouts, self._clock)
                )
        self._outcomes.add(benchmark.verdict.outcome)
        if not benchmark.is_written:
            self.unwritten[benchmark.name] = benchmark.verdict.reason
        self._observer.end(benchmark.name, benchmark.verdict)

    def _end_unstarted(self, benchmark: Benchmark, verdict: Verdict) -> None:
        try:
            end_unrun(self._run, benchmark.name, verdict)
        except RunDirError as error:  # it is told all the same
            verdict = Verdict(verdict.outcome, f"{verdict.reason}; {error}")
        self._outcomes.add(verdict.outcome)
        self._observer.end(benchmark.name, verdict)

    def _stop(self) -> None:
        if self.stopped_as is None:
            if self._why_stopped is not None:
                self.stopped_as = self._why_stopped()
            else:
                self.stopped_as = self._requests.verdict
        for benchmark in self._running.values():
            if benchmark.has_ended:
                continue
            with contained(benchmark.fail):
                benchmark.interrupt(self.stopped_as)
                benchmark.stop(self.stopped_as, hard=self._requests.stops > 1)
        while self._paused:
            _, benchmark = self._paused.popitem()
            benchmark.interrupt(self.stopped_as)
            self._end(benchmark, self.stopped_as)
        if self._why_stopped is None:
            for waiting in self._waiting.values():
                self._end_unstarted(waiting, NEVER_BEGAN)
        self._waiting.clear()
        self._isolations.clear()  # they stay open on disk
