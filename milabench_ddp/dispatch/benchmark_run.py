"""Runs one benchmark on its nodes: its launches one after another, and its state on disk.

In a shuffled run it pauses after each launch and gives its nodes back, so that others run between.
"""

import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress

from msgspec.structs import replace

from ..config.schema import Benchmark
from ..errors import may_pass, reason_of
from ..events import Clock, Outcome, Status, Verdict, gravest
from ..hostlist import hostlist
from ..machine.devices import Cluster
from ..plan.bash import render, within
from ..plan.launch import Launch, Process
from ..plan.planner import plan_launches
from ..results.lock import claimed
from ..results.read_state import read_benchmark
from ..results.run_dir import RunDir, archive_attempt, make_folder, save_state
from ..results.state import BenchmarkState, LaunchState, Repeats
from ..results.write import save_script
from .launch_tracker import LaunchTracker
from .nodes import NodeHandle, NodeLost
from .protocol import FindPorts, StartLaunch, StopLaunch, Timeouts
from .repeats import LAUNCHES_TO_FAIL, RepeatCounter, needs_another_launch
from .run_context import RunPlan


class BenchmarkRun:
    """A benchmark that runs; until it has ended or pauses, no other benchmark uses its nodes."""

    def __init__(
        self,
        benchmark: Benchmark,
        nodes: Sequence[NodeHandle],
        run: RunDir,
        plan: RunPlan,
        timeouts: Timeouts,
        clock: Clock,
        *,
        is_probe: bool = False,  # of an isolation, which judges no node by itself
    ) -> None:
        self.nodes = tuple(nodes)  # in the order of ranks
        self.benchmark = benchmark
        self._run, self._plan, self._timeouts, self._clock = run, plan, timeouts, clock
        self.state = BenchmarkState(
            benchmark.name,
            Status.RUNNING,
            started=time.time(),
            nodes=tuple(node.name for node in self.nodes),
            max_duration=benchmark.max_duration,
        )
        self._counter = RepeatCounter(run, plan)
        self.state.repeats = self._counter.repeats
        self._is_probe = is_probe
        self._waiting: list[Launch] = []
        self._launch: LaunchTracker | None = None
        self._has_started = False  # before that, it looks for free ports
        self._stack = ExitStack()
        self.is_written = True  # its last state is on disk
        self._is_mine = False  # its files are; before, they may be another process's
        self._stops = 0  # 1: stopped; 2: stopped hard

    @property
    def name(self) -> str:
        return self.benchmark.name

    @property
    def verdict(self) -> Verdict:
        return self.state.verdict

    @property
    def has_ended(self) -> bool:
        return self.state.ended is not None

    @property
    def next_repeat(self) -> int:
        return (self._waiting[0].repeat or 0) if self._waiting else 0

    def start(self) -> None:
        """Plan the launches, write the state ``running``, and begin the first launch.

        Raises:
            PlanError: it cannot be laid out on these nodes.
            RunDirError: another process runs it, or the state cannot be written. Every method that
                may end the benchmark raises the latter, too.
        """
        folder = self._run.benchmark(self.name)
        make_folder(folder)
        self._stack.enter_context(claimed(folder))
        self._is_mine = True
        self.state.launches = self._kept()
        tags = {process.tag for launch in self.state.launches for process in launch.processes}
        archive_attempt(self._run, self.name, tags)
        self._save()
        self._use_nodes()
        launches = self._planned(self._plan.repeats)
        comment = f"{self._run.name}: {self.name} on {hostlist(self.state.nodes)}"
        script = render(launches, self._plan.site.python, [comment])
        prefix = self._plan.runner.command_prefix if self._plan.runner else ()
        save_script(self._run, self.name, within(prefix, script))
        for launch in self.state.launches:
            self._counter.add(launch)
        self.state.repeats = self._counter.repeats
        has_run = {launch.repeat for launch in self.state.launches}
        self._waiting = [launch for launch in launches if launch.repeat not in has_run]
        self._next()

    def _planned(self, repeats: int) -> list[Launch]:
        cluster = Cluster(self._plan.arch, tuple(node.node for node in self.nodes))
        mine = replace(self.benchmark, num_machines=len(self.nodes))
        return plan_launches(mine, cluster, self._plan.site, repeats, self._run.path)

    def _kept(self) -> list[LaunchState]:
        earlier = read_benchmark(self._run, self.name)
        kept = []
        for launch in earlier.launches if earlier else ():
            has_files = all(self._run.data(each.tag).is_file() for each in launch.processes)
            is_whole = launch.verdict.is_ok and not launch.is_cut_off and has_files
            if is_whole and launch.repeat is not None and launch.nodes == self.state.nodes:
                kept.append(launch)
        return kept

    def _use_nodes(self) -> None:
        for node in self.nodes:
            node.benchmark = self.name

    def _leave_nodes(self) -> None:
        for node in self.nodes:
            if node.benchmark == self.name:  # a node that was lost and is back may run another
                node.benchmark = None

    def go_on(self) -> None:
        self.state.is_paused = False
        self._save()
        self._use_nodes()
        self._next()

    def _next(self) -> None:
        if not self._waiting or self._counter.is_enough:
            self._waiting.clear()
            self.finish(gravest(launch.verdict for launch in self.state.launches))
            return
        launch = self._waiting.pop(0)
        self._launch = LaunchTracker(
            launch, self.state.nodes, self._clock(), self._plan.grace, self._timeouts
        )
        self._has_started, self._stops = False, 0
        jobs = [process.job for process in launch.processes if process.job is not None]
        if jobs:
            among = self._plan.runner.rendezvous_ports if self._plan.runner else None
            self.nodes[0].send(FindPorts(self._launch.id, 1 + max(jobs), among))
        else:
            self.start_everywhere(self._launch.id, ())

    def start_everywhere(self, launch: str, ports: Sequence[int]) -> None:
        """Start the parts of a launch on all nodes; ``ports`` are free on the first node."""
        if self._launch is None or launch != self._launch.id or self._has_started:
            return
        self._has_started = True
        whole = self._launch.launch
        parts: list[list[Process]] = [[] for _ in self.nodes]
        host = self.nodes[0].address
        for process in whole.processes:
            port = "" if process.job is None else str(ports[process.job])
            env = {**process.env, **process.meeting(host, port)}
            parts[process.node].append(replace(process, env=env))
        for node, mine in zip(self.nodes, parts, strict=True):
            node.send(StartLaunch(launch, replace(whole, processes=tuple(mine))))

    def ended(self, node: NodeHandle, launch: str, state: LaunchState) -> None:
        if self._launch is not None and launch == self._launch.id:
            self._launch.ended(node.name, state, self._clock())
            if not self._has_started:  # nothing runs on the others
                self._launch.waits_for.clear()

    def lose(self, node: NodeHandle, lost: NodeLost) -> None:
        if self._launch is None:
            return
        # If it is only silent, it ends its part, or does not start it, as soon as this arrives.
        taken_for_lost = Verdict(Outcome.LOST, "its node was taken for lost")
        node.send(StopLaunch(self._launch.id, taken_for_lost, hard=True))
        self._launch.lose(node.name, lost, self._clock())
        if not self._has_started:  # nothing runs on the others
            self._launch.waits_for.clear()

    def advance(self) -> None:
        if self._launch is None:
            return
        now = self._clock()
        late = self._launch.overdue(now)
        for node in self.nodes:
            if node.name in late:
                self.lose(node, NodeLost("did not say how its part ended"))
        if verdict := self._launch.stop_due(now):
            self.stop(verdict)
        if self._launch.is_done:
            self._launch_ended(self._launch)

    def _launch_ended(self, tracked: LaunchTracker) -> None:
        state, has_failed = tracked.state(), tracked.has_failed
        self._launch = None
        has_all_nodes = all(node.is_alive for node in self.nodes)
        is_lost = state.outcome is Outcome.LOST or not has_all_nodes
        if self._has_started or is_lost or has_failed:
            self.state.launches.append(state)
            self._counter.add(state)
            self.state.repeats = self._counter.repeats
        if is_lost:
            self._waiting.clear()  # a node is missing for the other launches
        elif self._may_add_launches and needs_another_launch(self._run, self.benchmark, self.state):
            done = len(self.state.launches)
            self._waiting = self._planned(LAUNCHES_TO_FAIL)[done : done + 1]
            self.state.repeats = Repeats(done + 1, problem="a node is below its peers")
        if self._plan.seed is not None and self._waiting and not self._counter.is_enough:
            self.state.is_paused = True
            self._save()
            self._leave_nodes()
            return
        if self._waiting:
            self._save()
        self._next()

    @property
    def _may_add_launches(self) -> bool:
        return self._plan.repeats == 1 and not (self._stops or self._is_probe)

    def stop(self, verdict: Verdict, *, hard: bool = False) -> None:
        """Stop the current launch; a second call has an effect only if it is ``hard`` (SIGKILL)."""
        if self._stops > hard:
            return
        self._stops = 1 + hard
        if self._launch is None:
            return
        if not self._has_started:
            self._launch.waits_for.clear()
        for node in self.nodes:
            if node.name in self._launch.waits_for:
                node.send(StopLaunch(self._launch.id, verdict, hard))

    def interrupt(self, verdict: Verdict) -> None:
        last = None if self._waiting else self._launch
        has_succeeded = last is not None and last.is_done and last.state().verdict.is_ok
        if self.state.interrupted or has_succeeded:
            return
        self._waiting.clear()
        self.state.interrupted = True
        self.state.status, self.state.reason = Status(verdict.outcome), verdict.reason

    def finish(self, verdict: Verdict) -> None:
        if self.state.interrupted:
            verdict = self.state.verdict
        else:
            self.state.interrupted = any(launch.is_cut_off for launch in self.state.launches)
        self.state.is_paused = False
        self.state.end(verdict)
        try:
            if self._is_mine:
                self._save()
        finally:
            self.leave()
            self._leave_nodes()

    def fail(self, error: Exception) -> None:
        """End it as failed after an internal error; its state is written if that is possible."""
        verdict = Verdict(Outcome.FAILED, reason_of(error))
        self.stop(verdict, hard=True)
        self._launch = None
        if may_pass(error):
            self.interrupt(verdict)
        with suppress(Exception):  # its place cannot be written: the verdict is told all the same
            self.finish(verdict)

    def leave(self) -> None:
        """Release the lock; without a verdict on disk, the benchmark then counts as lost."""
        self._stack.close()

    def _save(self) -> None:
        self.is_written = False
        save_state(self._run, self._run.state_json(self.name), self.state)
        self.is_written = True
