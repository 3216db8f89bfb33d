"""What a coordinator of many nodes takes: for their heartbeats, and to run a benchmark on them."""

import os
import resource
import selectors
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from milabench_ddp.codec import decoder, encode
from milabench_ddp.dispatch.coordinator import Coordinator
from milabench_ddp.dispatch.membership import REST, Membership
from milabench_ddp.dispatch.protocol import FromAgent, Heartbeat, Hello, StartLaunch, Timeouts
from milabench_ddp.dispatch.transport import Connection
from milabench_ddp.events import Verdict
from milabench_ddp.launch.stop_requests import StopRequests
from milabench_ddp.machine.devices import Cluster
from milabench_ddp.plan.launch import Launch
from milabench_ddp.plan.planner import plan_launches
from milabench_ddp.progress import NoProgress
from milabench_ddp.results.run_dir import RunDir
from tests.support.dispatch import plan
from tests.support.launches import SITE, benchmark, njobs

from ..figure import Figure, with_growth
from ..paired import environment, in_turn
from ..programs.nodes import ended, made_node
from ..room import Room
from ..suites import FailedRunError, python

PATIENT = Timeouts(silence=600.0)
HEARTBEAT = encode(Heartbeat()) + b"\n"


def heartbeats(room: Room) -> Iterator[Figure]:
    """The share of a core for the heartbeats of so many nodes, one a second of each."""
    allow_descriptors()
    sizes = room.pick([2], [4, 102, 1024], [4, 102, 1024])
    figures = []
    for size in sizes:
        folder = room.folder / str(size)
        folder.mkdir()
        sides = {"ours": partial(_ours, size, folder, room), "bare": partial(_bare, size, room)}
        found = in_turn(room.pick(1, 1, 5), sides, warm=False)
        shares = [tuple(100 * share for share in found[side]) for side in sides]
        name = f"CPU of the coordinator for heartbeats: {size:,} nodes"
        figures.append(
            Figure(name, "% of a core", *shares, "reads what came, as rarely", "difference")
        )
    yield from with_growth(figures, sizes)


def _ours(size: int, folder: Path, room: Room) -> float:
    """The share of a core that a membership takes."""
    requests = StopRequests()
    with ExitStack() as stack:
        stack.callback(requests.close)
        ends, connections = [], {}
        for rank in range(size):
            reading, end = os.pipe()
            writing = os.open(os.devnull, os.O_WRONLY)
            close = partial(_close, (reading, writing, end))
            connections[f"n{rank}"] = Connection(reading, writing, FromAgent, close)
            os.write(end, encode(Hello(rank, made_node(rank), f"a{rank}")) + b"\n")
            ends.append(end)
        run = RunDir(folder)
        members = Membership(run, connections, requests.fd, PATIENT, NoProgress())
        for connection in connections.values():
            stack.callback(connection.close)
        while len(members.alive) < size:
            list(members.receive(1.0))
        return _share(ends, lambda: list(members.receive(0.1)), room)


def _bare(size: int, room: Room) -> float:
    """The share of a core that reading the same pipes takes."""
    with ExitStack() as stack, selectors.DefaultSelector() as selector:
        ends = []
        for _ in range(size):
            reading, end = os.pipe()
            stack.callback(_close, (reading, end))
            selector.register(reading, selectors.EVENT_READ)
            ends.append(end)

        def receive() -> None:
            if selector.select(0.1):
                time.sleep(size * REST)
            for key, _ in selector.select(0):
                os.read(key.fd, 1 << 16)

        return _share(ends, receive, room)


def _share(ends: Sequence[int], receive: partial[object], room: Room) -> float:
    """The share of a core of this thread, which receives the heartbeats written to ``ends``."""
    sending = threading.Thread(target=_send, args=(ends, room.pick(0.2, 4.0, 5.0)))
    sending.start()
    before, begin = time.thread_time(), time.monotonic()
    while sending.is_alive():
        receive()
    return (time.thread_time() - before) / (time.monotonic() - begin)


def _send(ends: Sequence[int], seconds: float) -> None:
    begin = time.monotonic()
    second = 0
    while second < seconds:
        for number, end in enumerate(ends):
            due = begin + second + number / len(ends)
            time.sleep(max(0.0, due - time.monotonic()))
            os.write(end, HEARTBEAT)
            if due >= begin + seconds:
                return
        second += 1


def benchmark_run(room: Room) -> Iterator[Figure]:
    """From the begin to the end of a benchmark on nodes that end it at once."""
    allow_descriptors()
    sizes = room.pick([2], [4, 102, 1024], [4, 102, 1024])
    figures = []
    for size in sizes:
        timings = partial(_timed_run, room.folder, size), partial(_messages, size)
        found = in_turn(
            room.pick(1, 3, 7), dict(zip(("ours", "bare"), timings, strict=True)), warm=False
        )
        name = f"a benchmark on {size:,} nodes that end it at once"
        floor = "its messages are encoded and decoded"
        figures.append(
            Figure(name, "ms", found["ours"], found["bare"], floor, relation="difference")
        )
    yield from with_growth(figures, sizes)


class _Stopwatch(NoProgress):
    """Takes the time between the begin and the end of a benchmark."""

    def begin(self, *_: object) -> None:
        """A benchmark begins."""
        self.begun = time.perf_counter()

    def end(self, _: str, verdict: Verdict) -> None:
        """A benchmark has ended."""
        if not verdict.is_ok:
            raise FailedRunError(verdict.reason)
        self.ms = (time.perf_counter() - self.begun) * 1e3


def _timed_run(folder: Path, size: int) -> float:
    """Milliseconds of a benchmark of a process for each of eight devices of each node."""
    run = RunDir(folder / f"{size}-{time.monotonic_ns()}")
    run.path.mkdir()
    watch, requests = _Stopwatch(), StopRequests()
    one = benchmark(plan=njobs(1))
    with _nodes(size) as connections:
        nodes = Membership(run, connections, requests.fd, PATIENT, watch)
        Coordinator(run, plan(one, nodes=size), [one], nodes, requests, watch, PATIENT).execute()
    requests.close()
    return watch.ms


@contextmanager
def _nodes(size: int) -> Iterator[dict[str, Connection[FromAgent]]]:
    """Connections to nodes, all of which are one process."""
    words, given, connections = [], [], {}
    for rank in range(size):
        from_node, to_us = os.pipe()
        from_us, to_node = os.pipe()
        given += [from_us, to_us]
        words.append(f"{from_us}:{to_us}")
        close = partial(_close, (from_node, to_node))
        connections[f"n{rank:04}"] = Connection(from_node, to_node, FromAgent, close)
    process = subprocess.Popen(python("nodes.py", *words), pass_fds=given, env=environment())
    _close(given)
    try:
        yield connections
    finally:
        for connection in connections.values():
            connection.close()
        process.wait()


def _messages(size: int) -> float:
    """Milliseconds to encode the orders of a launch, and to decode the answers."""
    (launch,) = plan_launches(
        benchmark(plan=njobs(1)), Cluster("cuda", tuple(map(made_node, range(size)))), SITE
    )
    parts: dict[int, Launch] = {}
    for process in launch.processes:
        parts[process.node] = Launch(launch.benchmark, None, (process,), launch.nodes)
    orders = [StartLaunch("id", part) for part in parts.values()]
    answers = [encode(ended("id", part.processes, None)) for part in parts.values()]
    decode = decoder(FromAgent)
    begin = time.perf_counter()
    for order, answer in zip(orders, answers, strict=True):
        encode(order)
        decode(answer)
    return (time.perf_counter() - begin) * 1e3


def allow_descriptors() -> None:
    """Allow as many descriptors as this process may have."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _close(descriptors: Sequence[int]) -> None:
    for each in descriptors:
        os.close(each)
