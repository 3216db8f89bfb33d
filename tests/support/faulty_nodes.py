"""Nodes on which what a benchmark does depends on which of them take part."""

from collections import defaultdict
from collections.abc import Callable, Iterator

from milabench_ddp.dispatch.nodes import NodeLost
from milabench_ddp.dispatch.protocol import FindPorts, LaunchEnded, Ports, StartLaunch, StopLaunch
from milabench_ddp.events import Outcome
from tests.support.dispatch import end
from tests.support.result_files import config, rates, start
from tests.support.result_files import end as ended
from tests.support.scripted_nodes import CoordinatorRun, Script

Nodes = frozenset[str]


class FaultyNodes:
    """Serves the launches of a coordinator as the nodes' faults have it.

    Args:
        fails: whether a benchmark fails on these nodes.
        rate: its rate on these nodes, in all; None: it writes no file.
        lose: a node that is lost in the launch of this number, from 0.
    """

    def __init__(
        self,
        run: CoordinatorRun,
        fails: Callable[[Nodes], bool] = lambda _: False,
        rate: Callable[[Nodes], float] | None = None,
        lose: tuple[str, int] | None = None,
        outcome: str = "failed",
    ) -> None:
        self._run, self._fails, self._rate, self._lose = run, fails, rate, lose
        self._outcome = outcome
        self.rounds: list[list[tuple[str, Nodes]]] = []  # the launches that ran at the same time

    def serve(self) -> Outcome:
        self._run.room.script = self._script()
        return self._run.coordinator.execute()

    def _script(self) -> Script:
        while True:
            self.answer()
            yield

    def answer(self) -> None:
        """Do what was asked."""
        parts: dict[str, list[tuple[object, StartLaunch]]] = defaultdict(list)
        for node in self._run.nodes:
            for order in node.orders:
                match order:
                    case FindPorts(launch, count):
                        node.say(Ports(launch, tuple(range(29_000, 29_000 + count))))
                    case StartLaunch(id) as begun:
                        parts[id].append((node, begun))
                    case StopLaunch(id, verdict):
                        state = end(verdict.outcome, verdict.reason)
                        node.say(LaunchEnded(id, state))
            node.orders.clear()
        now = []
        for part in parts.values():
            names = frozenset(node.handle.name for node, _ in part)  # type: ignore[attr-defined]
            benchmark = part[0][1].launch.benchmark.name
            now.append((benchmark, names))
            number = sum(map(len, self.rounds)) + len(now) - 1
            for node, begun in part:
                if self._lose == (node.handle.name, number):  # type: ignore[attr-defined]
                    node.say(NodeLost("lost its power"))  # type: ignore[attr-defined]
                elif self._fails(names):
                    node.ended(begun, self._outcome, "it broke")  # type: ignore[attr-defined]
                else:
                    self._write(begun, names)
                    node.ended(begun)  # type: ignore[attr-defined]
        if now:
            self.rounds.append(now)

    def _write(self, begun: StartLaunch, names: Nodes) -> None:
        for process in begun.launch.processes:
            if self._rate is not None and process.tag[-1] != "nolog":
                text = config(begun.launch.benchmark.name) + start()
                text += rates([self._rate(names)] * 80) + ended()
                self._run.dir.data(process.name).write_text(text)

    @property
    def probes(self) -> Iterator[tuple[str, Nodes]]:
        """Those after the first launch, which is the benchmark's own."""
        for launches in self.rounds[1:]:
            yield from launches
