"""One benchmark on its nodes: its launches one after another, and its state on disk."""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace

from ..codec import write_record
from ..config.schema import Benchmark
from ..errors import MilabenchError
from ..events import Outcome, Status, Verdict, gravest
from ..machine.devices import Cluster
from ..plan.bash import render
from ..plan.launch import Launch, Process
from ..plan.planner import plan_launches
from ..results.run_dir import RunDir, alive, archive_attempt, make_folder
from ..results.run_plan import RunPlan
from ..results.state import BenchmarkState, LaunchState
from ..results.write import save_script
from .launch_tracker import LaunchTracker
from .nodes import NodeHandle
from .protocol import FindPorts, StartLaunch, StopLaunch, Timeouts


class BenchmarkRun:
    """Runs on its nodes, which are its own until it has ended.

    Args:
        benchmark: what runs.
        nodes: where.
        run: the folder of the run.
        plan: what the run is to do.
        timeouts: how long the nodes are waited for.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        benchmark: Benchmark,
        nodes: Sequence[NodeHandle],
        run: RunDir,
        plan: RunPlan,
        timeouts: Timeouts,
        clock: Callable[[], float],
    ) -> None:
        # torchrun orders the nodes of a c10d rendezvous by their addresses: the first is that of
        # rank 0, which reports for all.
        self.nodes = tuple(sorted(nodes, key=lambda node: node.address))
        self.benchmark = benchmark
        self._run, self._plan, self._timeouts, self._clock = run, plan, timeouts, clock
        names = tuple(node.name for node in self.nodes)
        self.state = BenchmarkState(
            benchmark.name,
            Status.RUNNING,
            started=time.time(),
            nodes=names,
            max_duration=benchmark.max_duration,
        )
        self._waiting: list[Launch] = []
        self._launch: LaunchTracker | None = None
        self._has_started = False  # its processes were started; before that, ports are looked for
        self._stack = ExitStack()
        self._stops = 0  # 1: stopped; 2: stopped hard

    @property
    def name(self) -> str:
        """The benchmark's."""
        return self.benchmark.name

    @property
    def verdict(self) -> Verdict:
        """How it ended, once it has."""
        return self.state.verdict

    @property
    def has_ended(self) -> bool:
        """Whether it has a verdict that is on disk."""
        return self.state.ended is not None

    @property
    def _has_succeeded(self) -> bool:
        """Whether all its launches have ended ok, and only the verdict is not written yet."""
        if self._waiting or self._launch is None or not self._launch.is_done:
            return False
        return self._launch.state().verdict.is_ok

    def start(self) -> None:
        """Lay it out on its nodes, say on disk that it runs, and begin the first launch.

        Raises:
            RunDirError: its state cannot be written; the same of all that may end it.
        """
        folder = self._run.benchmark(self.name)
        make_folder(folder)
        archive_attempt(self._run, self.name)
        self._stack.enter_context(alive(folder))
        self._save()
        for node in self.nodes:
            node.benchmark = self.name
        try:
            cluster = Cluster(self._plan.arch, tuple(node.node for node in self.nodes))
            mine = replace(self.benchmark, num_machines=len(self.nodes))
            self._waiting = plan_launches(mine, cluster, self._plan.site, self._plan.repeats)
        except MilabenchError as error:
            self.finish(Verdict(Outcome.FAILED, str(error)))
            return
        comment = f"{self._run.name}: {self.name} on {', '.join(self.state.nodes)}"
        script = render(self._waiting, self._plan.site.python, [comment])
        save_script(self._run, self.name, script)
        self._next()

    def _next(self) -> None:
        """Begin the next launch: its first node looks for free ports, then all start."""
        if not self._waiting:
            self.finish(gravest(launch.verdict for launch in self.state.launches))
            return
        launch = self._waiting.pop(0)
        self._launch = LaunchTracker(
            launch, self.state.nodes, self._clock(), self._plan.grace, self._timeouts
        )
        self._has_started, self._stops = False, 0
        jobs = [process.job for process in launch.processes if process.job is not None]
        if jobs:
            self.nodes[0].send(FindPorts(self._launch.id, 1 + max(jobs)))
        else:
            self.start_everywhere(self._launch.id, ())

    def start_everywhere(self, launch: str, ports: Sequence[int]) -> None:
        """The first node has these ports free for the launch of this id: start its parts."""
        if self._launch is None or launch != self._launch.id or self._has_started:
            return
        self._has_started = True
        whole = self._launch.launch
        for rank, node in enumerate(self.nodes):
            mine = tuple(self._at(p, node, ports) for p in whole.processes if p.node == rank)
            node.send(StartLaunch(launch, replace(whole, processes=mine)))

    def _at(self, process: Process, node: NodeHandle, ports: Sequence[int]) -> Process:
        """The process, with where the ranks meet, and where its node is reached."""
        if process.job is None:
            return process
        host, port = self.nodes[0].address, ports[process.job]
        if process.is_rank:
            where = {"MASTER_ADDR": host, "MASTER_PORT": str(port)}
        else:
            where = {"PET_RDZV_ENDPOINT": f"{host}:{port}", "PET_LOCAL_ADDR": node.address}
        return replace(process, env={**process.env, **where})

    def ended(self, node: NodeHandle, launch: str, state: LaunchState) -> None:
        """A node says how its part of a launch ended."""
        if self._launch is not None and launch == self._launch.id:
            self._launch.ended(node.name, state, self._clock())

    def lose(self, node: NodeHandle, reason: str) -> None:
        """A node is gone."""
        if self._launch is None:
            return
        # Should it only be silent, it ends what it runs, or was to run, as soon as it hears.
        node.send(StopLaunch(self._launch.id, "it was given up", hard=True))
        self._launch.lose(node.name, reason, self._clock())
        if not self._has_started:  # nothing runs on the others
            self._launch.waits_for.clear()

    def advance(self) -> None:
        """Time has passed, or a node has answered: go on with what is due."""
        if self._launch is None:
            return
        now = self._clock()
        late = self._launch.overdue(now)
        for node in self.nodes:
            if node.name in late:
                self.lose(node, "did not say how its part ended")
        if reason := self._launch.stop_due(now):
            self.stop(reason)
        if self._launch.is_done:
            self._launch_ended(self._launch.state())

    def _launch_ended(self, state: LaunchState) -> None:
        self._launch = None
        is_lost = state.outcome is Outcome.LOST
        if self._has_started or is_lost:
            self.state.launches.append(state)
        if is_lost:
            self._waiting.clear()  # its nodes are not all there any more
        self._next()

    def stop(self, reason: str, *, hard: bool = False) -> None:
        """Stop what of it still runs; said again only where it is to be harder."""
        if self._stops > hard:
            return
        self._stops = 1 + hard
        if self._launch is None:
            return
        if not self._has_started:
            self._launch.waits_for.clear()
        for node in self.nodes:
            if node.name in self._launch.waits_for:
                node.send(StopLaunch(self._launch.id, reason, hard))

    def interrupt(self, verdict: Verdict) -> None:
        """It is stopped from outside, in the midst of its launches: that is its verdict."""
        if self.state.interrupted or self._has_succeeded:
            return
        self._waiting.clear()
        self.state.interrupted = True
        self._set(verdict)

    def finish(self, verdict: Verdict) -> None:
        """Write the verdict down, and set the nodes free."""
        if not self.state.interrupted:
            self._set(verdict)
        self.state.ended = time.time()
        self._save()
        self.leave()
        for node in self.nodes:
            if node.benchmark == self.name:  # one that was lost and is back may run the next
                node.benchmark = None

    def leave(self) -> None:
        """Give the lock back: without a verdict on disk it is lost."""
        self._stack.close()

    def _set(self, verdict: Verdict) -> None:
        self.state.status, self.state.reason = Status(verdict.outcome), verdict.reason

    def _save(self) -> None:
        write_record(self._run.state_json(self.name), self.state)
