"""A membership, and the scripted agents at the other end of its pipes."""

from collections.abc import Callable
from pathlib import Path

from milabench_ddp.dispatch.membership import Membership
from milabench_ddp.dispatch.nodes import NodeLost
from milabench_ddp.dispatch.protocol import (
    FromAgent,
)
from milabench_ddp.launch.stop_requests import StopRequests
from milabench_ddp.results.run_dir import RunDir
from tests.support.dispatch import QUICK, Clock
from tests.support.progress import RecordedProgress
from tests.support.scripted_agent import ScriptedAgent


class Room:
    """A membership whose agents are scripted by the test.

    Args:
        folder: of the run.
        count: of agents.
        clock: makes the membership's clock from that which the test moves.
    """

    def __init__(
        self,
        folder: Path,
        count: int,
        clock: Callable[[Clock], Callable[[], float]] = lambda clock: clock,
    ) -> None:
        self.dir, self.clock, self.told = RunDir(folder), Clock(), RecordedProgress()
        self.requests = StopRequests()
        self.agents = [ScriptedAgent(rank) for rank in range(count)]
        ends = {agent.name: agent.coordinator_end for agent in self.agents}
        self.nodes = Membership(
            self.dir, ends, self.requests.fd, QUICK, self.told, clock=clock(self.clock)
        )

    def hears(self) -> list[tuple[str, FromAgent | NodeLost]]:
        """The messages of the nodes about their work, by the names of the nodes."""
        found = [(handle.name, message) for handle, message in self.nodes.receive(0)]
        for agent in self.agents:
            agent.tell_clock()
        return found + [(handle.name, message) for handle, message in self.nodes.receive(0)]

    def fall_silent(self, *speakers: int) -> list[tuple[str, FromAgent | NodeLost]]:
        """All agents except these send no heartbeat for a long time."""
        self.clock.sleep(QUICK.silence + 0.1)
        for rank in speakers:
            self.agents[rank].heartbeat()
        return [each for each in self.hears() if isinstance(each[1], NodeLost)]

    def close(self) -> None:
        self.nodes.__exit__()
        for agent in self.agents:
            agent.close()
        self.requests.close()
