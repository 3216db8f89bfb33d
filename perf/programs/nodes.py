"""Many nodes as one process: they join, send heartbeats, and end each launch at once."""

import selectors
import sys
import time
from collections.abc import Sequence

from milabench_ddp.dispatch.protocol import (
    FindPorts,
    Heartbeat,
    Hello,
    LaunchEnded,
    Ping,
    Pong,
    Ports,
    StartLaunch,
    ToAgent,
)
from milabench_ddp.dispatch.transport import Connection, Stream
from milabench_ddp.events import Outcome
from milabench_ddp.machine.devices import Device, Node
from milabench_ddp.plan.launch import Process
from milabench_ddp.results.rates import RateCounts
from milabench_ddp.results.state import LaunchState, ProcessState

DEVICES = 8
FACTS = {f"fact {number}": "the same on all nodes" for number in range(20)}


def main() -> None:
    """``nodes.py READ:WRITE:COUNT...``: the descriptors of each step; ends with the pipes."""
    selector = selectors.DefaultSelector()
    connections: list[Connection[ToAgent]] = []
    for words in sys.argv[1:]:
        read, write, count = map(int, words.split(":"))
        stream = Stream(read, write)
        selector.register(read, selectors.EVENT_READ, stream)
        for label in range(count):
            rank = len(connections)
            connections.append(Connection[ToAgent](stream, ToAgent, label))
            address = f"10.0.{rank // 256}.{rank % 256}"
            connections[-1].send(Hello(rank, made_node(rank), address, FACTS))
    begin, beats = time.monotonic(), 0
    while selector.get_map():
        due = int((time.monotonic() - begin) * len(connections)) + 1  # spread over each second
        for number in range(beats, due):
            connections[number % len(connections)].send(Heartbeat())
        beats = due
        wait = begin + beats / len(connections) - time.monotonic()
        for key, _ in selector.select(max(0.0, wait)):
            key.data.receive()
            for connection in key.data.connections:
                for message in connection.taken():
                    _answer(connection, message)
            if key.data.connections[0].has_ended:
                selector.unregister(key.fd)


def made_node(rank: int) -> Node:
    """A node of eight devices."""
    devices = tuple(Device(index, str(index), "GPU", 80_000.0) for index in range(DEVICES))
    return Node(f"n{rank:04}", devices, 64)


def ended(launch: str, processes: Sequence[Process], repeat: int | None) -> LaunchEnded:
    """The end of a node's part: each process has told rates."""
    told = RateCounts(usable=5, ranks={0})
    now = time.time()
    states = []
    for process in processes:
        states.append(ProcessState(process.name, 1, 0, Outcome.OK, "", now, now, told))
    return LaunchEnded(launch, LaunchState(repeat, Outcome.OK, "", tuple(states)))


def _answer(connection: Connection[ToAgent], message: ToAgent) -> None:
    match message:
        case Ping(id):
            connection.send(Pong(id, time.time()))
        case FindPorts(launch, count):
            connection.send(Ports(launch, tuple(range(20_000, 20_000 + count))))
        case StartLaunch(id, launch):
            connection.send(ended(id, launch.processes, launch.repeat))


if __name__ == "__main__":
    main()
