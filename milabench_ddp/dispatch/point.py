"""One point of a sweep on its nodes: its launches one after another, and its state on disk."""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace

from ..config.schema import Benchmark
from ..errors import MilabenchError, RunDirError
from ..events import Outcome, Verdict, gravest
from ..machine.devices import Cluster
from ..plan.bash import render
from ..plan.launch import Launch, Process
from ..plan.planner import plan_launches
from ..results.planfile import RunPlan
from ..results.points import save_point, set_aside
from ..results.run_dir import RunDir, alive
from ..results.runfile import BenchmarkState
from ..results.write import save_script
from . import wire
from .patience import Patience
from .peer import Peer
from .underway import Underway


class Point:
    """Runs on its peers, which are its own until it has ended."""

    def __init__(
        self,
        benchmark: Benchmark,
        peers: Sequence[Peer],
        rundir: RunDir,
        plan: RunPlan,
        patience: Patience,
        clock: Callable[[], float],
    ) -> None:
        # torchrun orders the nodes of a c10d rendezvous by their addresses: the first is that of
        # rank 0, which reports for all.
        self.benchmark, self.peers = benchmark, tuple(sorted(peers, key=lambda p: p.address))
        self._rundir, self._plan, self._patience, self._clock = rundir, plan, patience, clock
        names = [peer.name for peer in self.peers]
        self.state = BenchmarkState(benchmark.name, "running", started=time.time(), nodes=names)
        self._launches: list[Launch] = []
        self._underway: Underway | None = None
        self._has_begun = False  # its processes were started; before that, ports are looked for
        self._stack = ExitStack()
        self._stopped = 0  # 1: asked to stop; 2: told to

    @property
    def name(self) -> str:
        """The benchmark's."""
        return self.benchmark.name

    def start(self) -> None:
        """Lay it out on its nodes, say on disk that it runs, and begin the first launch.

        Raises:
            RunDirError: its state cannot be written; the same of all that may end it.
        """
        folder = self._rundir.script(self.name).parent
        set_aside(self._rundir.path, self.name)
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise RunDirError(f"cannot make {folder}: {error.strerror}") from error
        self._stack.enter_context(alive(folder))
        save_point(folder, self.state)
        for peer in self.peers:
            peer.point = self.name
        try:
            cluster = Cluster(self._plan.arch, tuple(peer.node for peer in self.peers))
            mine = replace(self.benchmark, num_machines=len(self.peers))
            self._launches = plan_launches(mine, cluster, self._plan.site, self._plan.repeats)
        except MilabenchError as error:
            self.finish(Outcome.FAILED, str(error))
            return
        comment = f"{self._rundir.name}: {self.name} on {', '.join(self.state.nodes)}"
        save_script(
            self._rundir, self.name, render(self._launches, self._plan.site.python, [comment])
        )
        self._next()

    def _next(self) -> None:
        """Begin the next launch: its first node looks for free ports, then all start."""
        if not self._launches:
            verdict = gravest(Verdict(it.outcome, it.reason) for it in self.state.launches)
            self.finish(verdict.outcome, verdict.reason)
            return
        launch = self._launches.pop(0)
        names = [peer.name for peer in self.peers]
        self._underway = Underway(launch, names, self._clock(), self._plan.grace, self._patience)
        self._has_begun, self._stopped = False, 0
        jobs = 1 + max((p.job for p in launch.processes if p.job is not None), default=-1)
        if jobs:
            self.peers[0].channel.send(do="ports", id=self._underway.id, count=jobs)
        else:
            self.begin(self._underway.id, [])

    def begin(self, asked_for: str, ports: Sequence[int]) -> None:
        """The first node has these ports free for the launch of this id: start everywhere."""
        if self._underway is None or asked_for != self._underway.id or self._has_begun:
            return
        self._has_begun = True
        launch = self._underway.launch
        for rank, peer in enumerate(self.peers):
            mine = [self._at(p, peer, ports) for p in launch.processes if p.node == rank]
            peer.channel.send(
                do="run",
                id=self._underway.id,
                benchmark=self.name,
                repeat=launch.repeat,
                nodes=launch.nodes,
                processes=[wire.of_process(process) for process in mine],
            )

    def _at(self, process: Process, peer: Peer, ports: Sequence[int]) -> Process:
        """The process, with where the ranks meet, and where its node is reached."""
        if process.job is None:
            return process
        host, port = self.peers[0].address, ports[process.job]
        if process.is_rank:
            where = {"MASTER_ADDR": host, "MASTER_PORT": str(port)}
        else:
            where = {"PET_RDZV_ENDPOINT": f"{host}:{port}", "PET_LOCAL_ADDR": peer.address}
        return replace(process, env={**process.env, **where})

    def ended(self, peer: Peer, launch: str, end: dict[str, object]) -> None:
        """A node says how its part of a launch ended."""
        if self._underway is not None and launch == self._underway.id:
            self._underway.ended(peer.name, end, self._clock())

    def lose(self, peer: Peer, why: str) -> None:
        """A node is gone."""
        if self._underway is not None:
            # Should it only be silent, it ends what it runs, or was to run, as soon as it hears.
            peer.channel.send(do="stop", id=self._underway.id, why="it was given up", hard=True)
            self._underway.lose(peer.name, why, self._clock())
            if not self._has_begun:  # nothing runs on the others
                self._underway.waits_for.clear()

    def tick(self) -> None:
        """Time has passed, or something was said: go on with what is due."""
        if self._underway is None:
            return
        now = self._clock()
        late = self._underway.overdue(now)
        for peer in self.peers:
            if peer.name in late:
                self.lose(peer, "did not say how its part ended")
        if why := self._underway.stop_due(now):
            self.stop(why)
        if self._underway.done:
            launch = self._underway.state()
            self._underway = None
            if self._has_begun or launch.outcome is Outcome.LOST:
                self.state.launches.append(launch)
            if launch.outcome is Outcome.LOST:
                self._launches.clear()  # its nodes are not all there any more
            self._next()

    def stop(self, why: str, *, hard: bool = False) -> None:
        """Stop what of it still runs; said again only where it is to be harder."""
        if self._stopped > hard:
            return
        self._stopped = 1 + hard
        if self._underway is not None and not self._has_begun:
            self._underway.waits_for.clear()
        for peer in self.peers:
            if self._underway is not None and peer.name in self._underway.waits_for:
                peer.channel.send(do="stop", id=self._underway.id, why=why, hard=hard)

    def cut_short(self, outcome: Outcome, why: str) -> None:
        """It was stopped from outside, in the midst of its launches: that is its verdict."""
        self._launches.clear()
        self.state.outcome, self.state.reason, self.state.cut_short = outcome, why, True

    @property
    def has_ended(self) -> bool:
        """Whether it has a verdict that is on disk."""
        return self.state.ended is not None

    def finish(self, outcome: Outcome, reason: str) -> None:
        """Write the verdict down, and set the nodes free."""
        if not self.state.cut_short:
            self.state.outcome, self.state.reason = outcome, reason
        self.state.ended = time.time()
        save_point(self._rundir.script(self.name).parent, self.state)
        self.leave()
        for peer in self.peers:
            peer.point = None

    def leave(self) -> None:
        """Nobody leads it any more: without a verdict on disk it is lost."""
        self._stack.close()
