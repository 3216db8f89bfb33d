"""What a coordinator of many nodes takes: for their heartbeats, and to run a benchmark on them."""

import os
import resource
import selectors
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path

from milabench_ddp.codec import decoder, encode
from milabench_ddp.dispatch.agent_process import AgentLog, AgentProcess
from milabench_ddp.dispatch.coordinator import Coordinator
from milabench_ddp.dispatch.membership import REST, Membership
from milabench_ddp.dispatch.protocol import FromAgent, Heartbeat, StartLaunch, Timeouts
from milabench_ddp.dispatch.runners.slurm_job import parts
from milabench_ddp.dispatch.transport import Connection, Stream
from milabench_ddp.dispatch.transport import heartbeats as beating
from milabench_ddp.events import Verdict
from milabench_ddp.launch.stop_requests import StopRequests
from milabench_ddp.machine.devices import Cluster
from milabench_ddp.plan.launch import Launch
from milabench_ddp.plan.planner import plan_launches
from milabench_ddp.progress import ProgressObserver
from milabench_ddp.results.run_dir import RunDir
from tests.support.dispatch import plan
from tests.support.launches import SITE, benchmark, njobs

from ..figure import Figure, with_growth
from ..paired import FailedRunError, environment, in_turn
from ..programs.nodes import ended, made_node
from ..room import Room
from ..suites import python

PATIENT = Timeouts(silence=600.0)
HEARTBEAT = encode(Heartbeat()) + b"\n"


def heartbeats(room: Room) -> Iterator[Figure]:
    """The share of a core for the heartbeats of so many nodes: one a second from and to each."""
    allow_descriptors()
    sizes = room.pick([2], [4, 102, 1024], [4, 102, 1024])
    figures = []
    for size in sizes:
        sides = {"ours": partial(_ours, size, room), "bare": partial(_bare, size, room)}
        found = in_turn(room.pick(1, 1, 3), sides, warm=False)
        ours, bare = (tuple(100 * share for share in found[side]) for side in sides)
        name = f"CPU of the coordinator for heartbeats: {size:,} nodes"
        floor = "reads what came as rarely, and writes as much"
        figures.append(Figure(name, "% of a core", ours, bare, floor, "difference"))
    yield from with_growth(figures, sizes)


def _ours(size: int, room: Room) -> float:
    """The share of a core that a membership takes."""
    run, requests = _new_run(room.folder), StopRequests()
    with _nodes(size) as pipes:
        nodes = Membership(
            run, _connections(run, pipes, size), requests.fd, PATIENT, ProgressObserver()
        )
        with nodes:
            while nodes.is_gathering:
                list(nodes.receive(1.0))
            share = _share(lambda: list(nodes.receive(1.0)), room)
    requests.close()
    return share


def _bare(size: int, room: Room) -> float:
    """The share of a core that reading and writing the same pipes takes."""
    with _nodes(size) as pipes, selectors.DefaultSelector() as selector:
        for read, _ in pipes:
            selector.register(read, selectors.EVENT_READ)

        def receive() -> None:
            selector.select(1.0)
            time.sleep(size * REST)
            for key, _ in selector.select(0):
                os.read(key.fd, 1 << 16)

        def send() -> None:
            for _, write in pipes:
                os.write(write, HEARTBEAT)

        with beating(send, 1.0):
            return _share(receive, room)


def _share(receive: Callable[[], object], room: Room) -> float:
    """The share of a core of this process, which receives heartbeats."""
    before, begin = time.process_time(), time.monotonic()
    while time.monotonic() < begin + room.pick(0.2, 2.0, 4.0):
        receive()
    return (time.process_time() - before) / (time.monotonic() - begin)


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


class _Stopwatch(ProgressObserver):
    """Takes the time between the begin and the end of a benchmark."""

    def begin(self, *_: object) -> None:
        """A benchmark begins."""
        self.begun = time.perf_counter()

    def end(self, _: str, verdict: Verdict, *__: object) -> None:
        """A benchmark has ended."""
        if not verdict.is_ok:
            raise FailedRunError(verdict.reason)
        self.ms = (time.perf_counter() - self.begun) * 1e3


def _timed_run(folder: Path, size: int) -> float:
    """Milliseconds of a benchmark of a process for each of eight devices of each node."""
    run, watch, requests = _new_run(folder), _Stopwatch(), StopRequests()
    one = benchmark(plan=njobs(1))
    with _nodes(size) as pipes:
        nodes = Membership(run, _connections(run, pipes, size), requests.fd, PATIENT, watch)
        Coordinator(run, plan(one, nodes=size), [one], nodes, requests, watch, PATIENT).execute()
    requests.close()
    return watch.ms


def _new_run(folder: Path) -> RunDir:
    run = RunDir(folder / str(time.monotonic_ns()))
    run.path.mkdir()
    return run


@contextmanager
def _nodes(size: int) -> Iterator[list[tuple[int, int]]]:
    """Nodes, all of which are one process; the descriptors to read from and write to each step."""
    words, given, pipes = [], [], []
    for part in parts(range(size)):
        from_step, to_us = os.pipe()
        from_us, to_step = os.pipe()
        given += [from_us, to_us]
        words.append(f"{from_us}:{to_us}:{len(part)}")
        pipes.append((from_step, to_step))
    process = subprocess.Popen(python("nodes.py", *words), pass_fds=given, env=environment())
    for fd in given:
        os.close(fd)
    try:
        yield pipes
    finally:
        for fd in chain.from_iterable(pipes):
            os.close(fd)
        process.wait()


def _connections(
    run: RunDir, pipes: Sequence[tuple[int, int]], size: int
) -> dict[str, Connection[FromAgent]]:
    connections: dict[str, Connection[FromAgent]] = {}
    for (read, write), part in zip(pipes, parts(range(size)), strict=True):
        stream = Stream(read, write)
        for label, rank in enumerate(part):
            name = f"n{rank:04}"
            process = AgentProcess(None, AgentLog(run.node_log(name)))
            connections[name] = Connection[FromAgent](stream, FromAgent, label, process)
    return connections


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
