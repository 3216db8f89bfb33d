"""A coordinator under test: its nodes follow a script, and the test moves its clock."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

from milabench_ddp.dispatch.coordinator import Coordinator
from milabench_ddp.dispatch.nodes import NodeHandle, NodeLost, Nodes
from milabench_ddp.dispatch.protocol import (
    FindPorts,
    FromAgent,
    LaunchEnded,
    Ports,
    StartLaunch,
    ToAgent,
)
from milabench_ddp.dispatch.run_context import RunPlan
from milabench_ddp.events import Outcome
from milabench_ddp.launch.stop_requests import StopRequests
from milabench_ddp.results.read_state import read_benchmark
from milabench_ddp.results.run_dir import RunDir
from milabench_ddp.results.state import BenchmarkState
from tests.support.dispatch import Clock, end, node
from tests.support.progress import RecordedProgress

Order = TypeVar("Order", bound=ToAgent)
Script = Iterator[None]
"""What happens: from one ``yield`` to the next, within one step of the coordinator."""


class ScriptedNode:
    """A node: the orders that it received, and its answers."""

    def __init__(self, rank: int, address: str, devices: int) -> None:
        self.orders: list[ToAgent] = []  # those that have not been looked at
        self.started: list[StartLaunch] = []  # by ``serve``
        self.said: list[FromAgent | NodeLost] = []
        self.handle = NodeHandle(rank, node(rank, devices), address, self._take)

    def _take(self, message: ToAgent) -> bool:
        self.orders.append(message)
        return True

    def order(self, kind: type[Order]) -> Order:
        """The next order, which must be of this type."""
        assert self.orders, f"{self.handle.name} was not asked anything"
        found = self.orders.pop(0)
        assert isinstance(found, kind), found
        return found

    def say(self, message: FromAgent | NodeLost) -> None:
        self.said.append(message)

    def give_ports(self, *ports: int) -> FindPorts:
        asked = self.order(FindPorts)
        self.say(Ports(asked.launch, ports))
        return asked

    def ended(self, start: StartLaunch, outcome: str = "ok", reason: str = "") -> None:
        tags = [process.name for process in start.launch.processes]
        self.say(LaunchEnded(start.id, end(outcome, reason, tags=tags)))

    def serve(self) -> None:
        """Do everything that was asked, at once."""
        while self.orders:
            match self.orders.pop(0):
                case FindPorts(launch, count):
                    self.say(Ports(launch, tuple(range(29_000, 29_000 + count))))
                case StartLaunch() as start:
                    self.started.append(start)
                    self.ended(start)


class ScriptedNodes(Nodes):
    """The nodes of a coordinator; each ``receive`` runs the next step of the script."""

    is_gathering = False
    may_grow = False

    def __init__(self, nodes: Sequence[ScriptedNode], clock: Clock) -> None:
        super().__init__([each.handle for each in nodes])
        self.nodes, self._clock = nodes, clock
        self.script: Script = iter(())
        self.is_open = False
        self._steps = 0

    def __enter__(self) -> Self:
        self.is_open = True
        return self

    def __exit__(self, *exception: object) -> None:
        self.is_open = False

    def receive(self, timeout: float) -> Iterator[tuple[NodeHandle, FromAgent | NodeLost]]:
        self._clock.sleep(timeout)
        self._steps += 1
        assert self._steps < 10_000, "it waits for ever"
        next(self.script, None)
        for each in self.nodes:
            said, each.said = each.said, []
            for message in said:
                if isinstance(message, NodeLost):
                    each.handle.is_alive = False
                yield each.handle, message
                if isinstance(message, NodeLost):
                    each.handle.benchmark = None


class CoordinatorRun:
    """A coordinator on scripted nodes, with what a test needs to check it."""

    def __init__(
        self,
        folder: Path,
        plan: RunPlan,
        nodes: int = 2,
        addresses: Sequence[str] = (),
        devices: int = 1,
        **options: Any,
    ) -> None:
        self.dir, self.clock, self.told = RunDir(folder), Clock(), RecordedProgress()
        self.requests = StopRequests()
        places = addresses or [f"10.0.0.{rank + 1}" for rank in range(nodes)]
        self.nodes = [ScriptedNode(rank, place, devices) for rank, place in enumerate(places)]
        self.room = ScriptedNodes(self.nodes, self.clock)
        self._plan = plan
        self.coordinator = Coordinator(
            self.dir,
            plan,
            plan.benchmarks,
            self.room,
            self.requests,
            self.told,
            clock=self.clock,
            **options,
        )

    def execute(self, script: Callable[[], Script]) -> Outcome:
        """Run to the end; the script must end too."""
        is_over = False

        def told() -> Script:
            nonlocal is_over
            yield from script()
            is_over = True

        self.room.script = told()
        outcome = self.coordinator.execute()
        next(self.room.script, None)  # the asserts after the last step
        assert is_over, "the coordinator has ended before the script"
        return outcome

    def serve(self) -> Outcome:
        """Run to the end on nodes that do everything that is asked."""

        def script() -> Script:
            while True:
                for each in self.nodes:
                    each.serve()
                yield

        self.room.script = script()
        return self.coordinator.execute()

    def state(self, name: str) -> BenchmarkState:
        found = read_benchmark(self.dir, name)
        assert found is not None
        return found

    def statuses(self) -> dict[str, str]:
        found = {}
        for benchmark in self._plan.benchmarks:
            state = read_benchmark(self.dir, benchmark.name)
            found[benchmark.name] = "waiting" if state is None else str(state.status)
        return found
