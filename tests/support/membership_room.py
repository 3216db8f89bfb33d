"""A membership, and the scripted agents at the other end of its pipes."""

from collections.abc import Callable
from pathlib import Path

from milabench_ddp.dispatch.agent_process import AgentLog, AgentProcess
from milabench_ddp.dispatch.membership import AgentConnection, Membership
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
        again: whether its agents are started again, as the agents in ``again``.
        is_shared: whether they share a stream, as the tasks of a step.
    """

    def __init__(
        self,
        folder: Path,
        count: int,
        clock: Callable[[Clock], Callable[[], float]] = lambda clock: clock,
        *,
        again: bool = False,
        is_shared: bool = False,
        spare: int = 0,
    ) -> None:
        self.dir, self.clock, self.told = RunDir(folder), Clock(), RecordedProgress()
        self.requests = StopRequests()
        self.agents = [ScriptedAgent(0)]
        for rank in range(1, count):
            self.agents.append(ScriptedAgent(rank, self.agents[0] if is_shared else None))
        self.again: dict[int, ScriptedAgent] = {}  # those that were started again, in their order
        ends = {agent.name: agent.coordinator_end for agent in self.agents}
        for name, end in ends.items():
            end.process = end.process or AgentProcess(None, AgentLog(self.dir.node_log(name)))
        self.nodes = Membership(
            self.dir, ends, self.requests.fd, QUICK, self.told, clock=clock(self.clock),
            again=self._start_again if again else None, spare=spare,
        )  # fmt: skip

    def _start_again(self, name: str) -> AgentConnection:
        agent = ScriptedAgent(int(name.removeprefix("n")))
        self.again[len(self.again)] = agent
        agent.coordinator_end.process = self.step_of(agent)
        return agent.coordinator_end

    def step_of(self, agent: ScriptedAgent) -> AgentProcess:
        """A step of this agent alone, whose log is whole."""
        log = AgentLog(self.dir.node_log(agent.name))
        log.is_whole.set()
        return AgentProcess(None, log, (agent.name,))

    def latest(self, rank: int) -> ScriptedAgent:
        """The last agent of a node that was started."""
        return [each for each in (*self.agents, *self.again.values()) if each.rank == rank][-1]

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
        for agent in (*self.agents, *self.again.values()):
            agent.close()
        self.requests.close()
