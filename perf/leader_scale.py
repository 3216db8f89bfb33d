"""What a leader's ear costs: the share of a core that hearing the signs of life of N nodes takes.

    python perf/leader_scale.py [N ...]

The nodes are sockets of this process; each gives one sign of life a second, spread over it.
"""

import json
import resource
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from paired import REPOSITORY

sys.path.insert(0, str(REPOSITORY))
from milabench_ddp.dispatch import wire
from milabench_ddp.dispatch.channel import Channel
from milabench_ddp.dispatch.onlooker import QuietOnlooker
from milabench_ddp.dispatch.patience import Patience
from milabench_ddp.dispatch.roster import Roster
from milabench_ddp.machine.devices import Node
from milabench_ddp.results.run_dir import RunDir

SECONDS = 5


def gathered(nodes: int, folder: Path) -> tuple[Roster, list[socket.socket]]:
    """A roster on which so many nodes are, and the nodes' ends."""
    never = Patience(silence=1e9)
    roster = Roster(
        RunDir(folder), nodes, "", never, QuietOnlooker(), lambda *_: None, time.monotonic
    )
    ends = []
    for rank in range(nodes):
        ours, theirs = socket.socketpair()
        roster.invite(f"n{rank}", Channel(ours.fileno(), ours.fileno(), ours.close))
        node = wire.of_node(Node(f"n{rank}", (), 1))
        hello = {"say": "hello", "rank": rank, "node": node, "address": f"a{rank}"}
        theirs.sendall(json.dumps(hello).encode() + b"\n")
        ends.append(theirs)
    while len(roster.alive) < nodes:
        list(roster.hear(1.0))
    return roster, ends


def beat(ends: Sequence[socket.socket]) -> None:
    """What the nodes say, for as many seconds."""
    begin = time.monotonic()
    for second in range(SECONDS):
        for k, end in enumerate(ends):
            time.sleep(max(0.0, begin + second + k / len(ends) - time.monotonic()))
            end.sendall(b'{"say":"beat"}\n')


def share(nodes: int) -> tuple[float, float]:
    """Of a core; and how often in a second the leader woke up."""
    with tempfile.TemporaryDirectory() as folder:
        roster, ends = gathered(nodes, Path(folder))
        speaking = threading.Thread(target=beat, args=(ends,))
        speaking.start()
        before, begin, woken = time.thread_time(), time.monotonic(), 0
        while speaking.is_alive():
            list(roster.hear(0.1))
            woken += 1
        took, busy = time.monotonic() - begin, time.thread_time() - before
        roster.dismiss()
        for end in ends:
            end.close()
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
