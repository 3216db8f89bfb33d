"""Measures the CPU time that a coordinator spends on the heartbeats of N nodes.

    python perf/coordinator_scale.py [N ...]

The nodes are pipes of this process; each sends one heartbeat a second, spread over it.
"""

import os
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from paired import REPOSITORY

sys.path.insert(0, str(REPOSITORY))
from milabench_ddp.codec import encode
from milabench_ddp.dispatch.membership import AgentConnection, Membership
from milabench_ddp.dispatch.protocol import FromAgent, Heartbeat, Hello, Timeouts
from milabench_ddp.dispatch.transport import Connection
from milabench_ddp.launch.stop_requests import StopRequests
from milabench_ddp.machine.devices import Node
from milabench_ddp.progress import NoProgress
from milabench_ddp.results.run_dir import RunDir

SECONDS = 5
HEARTBEAT = encode(Heartbeat()) + b"\n"


def close_all(descriptors: Sequence[int]) -> None:
    """Close descriptors."""
    for each in descriptors:
        os.close(each)


@contextmanager
def gathered(nodes: int, folder: Path) -> Iterator[tuple[Membership, list[int]]]:
    """A membership of the given number of nodes, and the descriptor that each writes to."""
    requests = StopRequests()
    connections: dict[str, AgentConnection] = {}
    ends = []
    for rank in range(nodes):
        from_agent, end = os.pipe()
        to_agent = os.open(os.devnull, os.O_WRONLY)
        close = partial(close_all, (from_agent, to_agent, end))
        connections[f"n{rank}"] = Connection(from_agent, to_agent, FromAgent, close)
        hello = Hello(rank, Node(f"n{rank}", (), 1), f"a{rank}")
        os.write(end, encode(hello) + b"\n")
        ends.append(end)
    never = Timeouts(silence=1e9)
    members = Membership(RunDir(folder), connections, requests.fd, never, NoProgress())
    while len(members.alive) < nodes:
        list(members.receive(1.0))
    yield members, ends
    for connection in connections.values():
        connection.close()
    requests.close()


def send_heartbeats(ends: Sequence[int]) -> None:
    """Send the heartbeats of all nodes, once a second."""
    begin = time.monotonic()
    for second in range(SECONDS):
        for k, end in enumerate(ends):
            time.sleep(max(0.0, begin + second + k / len(ends) - time.monotonic()))
            os.write(end, HEARTBEAT)


def share(nodes: int) -> tuple[float, float]:
    """The share of a core, and how often a second the coordinator woke up."""
    with tempfile.TemporaryDirectory() as folder, gathered(nodes, Path(folder)) as (members, ends):
        sending = threading.Thread(target=send_heartbeats, args=(ends,))
        sending.start()
        before, begin, woken = time.thread_time(), time.monotonic(), 0
        while sending.is_alive():
            list(members.receive(0.1))
            woken += 1
        took, busy = time.monotonic() - begin, time.thread_time() - before
    return busy / took, woken / took


def main() -> None:
    """Print a line for each number of nodes."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    for nodes in map(int, sys.argv[1:] or ("4", "102", "1024")):
        busy, woken = share(nodes)
        print(f"{nodes} nodes: {busy:.2%} of a core, woken {woken:.0f} times a second")


if __name__ == "__main__":
    main()
