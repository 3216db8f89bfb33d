"""This host as the only node, with real launches of small programs."""

import errno
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from milabench_ddp.codec import write_record
from milabench_ddp.config.schema import Benchmark
from milabench_ddp.dispatch import this_host
from milabench_ddp.dispatch.coordinator import Coordinator
from milabench_ddp.dispatch.protocol import FindPorts, LaunchEnded, Ports
from milabench_ddp.dispatch.this_host import (
    ThisHost,
    address_of,
    free_ports,
    launch_runner,
    run_part,
)
from milabench_ddp.errors import DispatchError, RunDirError
from milabench_ddp.events import Event, Metrics, Outcome, Started, Verdict
from milabench_ddp.launch import keeper
from milabench_ddp.launch.node_run import LaunchRunner, SampleRouter
from milabench_ddp.launch.reap import read_stat
from milabench_ddp.launch.stop_requests import StopRequests
from milabench_ddp.plan.command_line import Site
from milabench_ddp.plan.launch import Launch
from milabench_ddp.results.read_state import read_benchmark
from milabench_ddp.results.run_dir import RunDir
from milabench_ddp.results.state import BenchmarkState, LaunchState, ProcessState, Survivor
from milabench_ddp.results.write import DataHeader
from tests.support.dispatch import node, plan
from tests.support.launches import SITE, benchmark, launch
from tests.support.os_errors import os_error
from tests.support.progress import RecordedProgress
from tests.support.started_agent import DEAF, RATE, STAYS

IN_PLACE = "there is something in its place, and it is not written to"
ON_REQUEST = Verdict(Outcome.CANCELLED, "stopped on request")


class Host:
    """A coordinator on this host; a test may act at the first rate of a program."""

    def __init__(self, folder: Path) -> None:
        self.dir, self.told, self.requests = RunDir(folder), RecordedProgress(), StopRequests()
        self.at_rate: Callable[[int], None] = lambda _: None
        self._rates = 0
        runner = LaunchRunner(self.dir, DataHeader("r", "cpu", {}), SampleRouter(), os.environ, 0.1)
        self.nodes = ThisHost(node(0), runner, self.requests, self._event)

    def _event(self, event: Event) -> None:
        self.told.event(event)
        if isinstance(event, Metrics):
            self._rates += 1
            self.at_rate(self._rates)

    def benchmark(self, name: str, text: str, **changes: object) -> Benchmark:
        program = self.dir.path / f"{name}.py"
        program.write_text(text)
        return benchmark(name, program=program, **changes)

    def execute(self, *benchmarks: Benchmark, repeats: int = 1) -> Outcome:
        site = Site(sys.executable, {}, SITE.voir_shim)
        todo = plan(*benchmarks, nodes=1, repeats=repeats, site=site)
        return Coordinator(
            self.dir, todo, benchmarks, self.nodes, self.requests, self.told
        ).execute()

    def state(self, name: str) -> BenchmarkState:
        found = read_benchmark(self.dir, name)
        assert found is not None
        return found


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    it = Host(tmp_path)
    yield it
    it.requests.close()


def test_two_repeats_and_a_launch_that_fails(host: Host) -> None:
    good = host.benchmark("good", RATE)
    bad = host.benchmark("bad", RATE + "sys.exit(3)")
    assert host.execute(good, bad, repeats=2) is Outcome.FAILED
    assert host.told.begun == [("good", ()), ("bad", ())]
    assert host.told.ended == {
        "good": Verdict(Outcome.OK),
        "bad": Verdict(Outcome.FAILED, "exit status 3"),
    }
    assert [launch.repeat for launch in host.state("good").launches] == [0, 1]
    starts = [event.tag for event in host.told.events if isinstance(event, Started)]
    assert starts == ["good.R0.D0", "good.R1.D0", "bad.R0.D0", "bad.R1.D0"]
    assert (host.nodes.alive, host.nodes.free) == ([0], [0])


def test_it_looks_for_free_ports(host: Host) -> None:
    handle = host.nodes[0]
    assert handle.send(FindPorts("x", 2))
    ((said_by, answer),) = host.nodes.receive(600.0)
    assert said_by is handle
    assert isinstance(answer, Ports)
    assert (answer.launch, len(set(answer.ports))) == ("x", 2)


def test_a_request_to_stop_ends_the_launch_and_what_waits_never_begins(host: Host) -> None:
    stays, after = host.benchmark("stays", STAYS), host.benchmark("after", RATE)
    host.at_rate = lambda _: host.requests.stop()
    assert host.execute(stays, after, repeats=2) is Outcome.CANCELLED
    state = host.state("stays")
    assert (Verdict(Outcome(state.status), state.reason), state.interrupted) == (ON_REQUEST, True)
    assert [launch.outcome for launch in state.launches] == [Outcome.CANCELLED]
    never = Verdict(Outcome.CANCELLED, "stopped before it began")
    assert host.told.ended == {"stays": ON_REQUEST, "after": never}


def test_asked_twice_it_is_killed(host: Host) -> None:
    def stop_hard(_rates: int) -> None:
        host.requests.stop()
        host.requests.stop()

    host.at_rate = stop_hard
    assert host.execute(host.benchmark("deaf", DEAF)) is Outcome.CANCELLED
    (launch,) = host.state("deaf").launches
    assert launch.processes[0].returncode == -9


def test_stopped_in_the_second_repeat(host: Host) -> None:
    def stop_at_second(rates: int) -> None:
        if rates == 2:
            host.requests.stop()

    host.at_rate = stop_at_second
    text = RATE + "if os.path.exists(__file__ + '.ran'): time.sleep(600)\n"
    text += "open(__file__ + '.ran', 'w')\n"
    assert host.execute(host.benchmark("b", text), repeats=3) is Outcome.CANCELLED
    outcomes = [launch.outcome for launch in host.state("b").launches]
    assert outcomes == [Outcome.OK, Outcome.CANCELLED]
    assert host.told.ended == {"b": ON_REQUEST}


def test_asked_to_stop_while_nothing_is_asked_of_it(host: Host) -> None:
    threading.Thread(target=host.requests.stop).start()
    assert list(host.nodes.receive(600.0)) == []


def test_a_full_disk_is_a_failure_of_the_benchmark(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = RunDirError("cannot write one.D0.data: No space left on device")
    real = LaunchRunner.run

    def run(runner: LaunchRunner, launch: Launch, *more: Any) -> LaunchState:
        if launch.benchmark.name == "one":
            raise full
        return real(runner, launch, *more)

    monkeypatch.setattr(LaunchRunner, "run", run)
    one, two = host.benchmark("one", RATE), host.benchmark("two", RATE)
    assert host.execute(one, two) is Outcome.FAILED
    assert host.told.ended == {
        "one": Verdict(Outcome.FAILED, str(full)),
        "two": Verdict(Outcome.OK),
    }
    state = read_benchmark(host.dir, "one")
    assert state is not None
    assert not state.is_final  # `--resume` runs it again, once there is room


def test_what_hinders_a_part_is_its_failure(tmp_path: Path) -> None:
    requests = StopRequests()
    (tmp_path / "b.D0.data").mkdir()
    header = DataHeader("r", "cpu", {})
    runner = LaunchRunner(RunDir(tmp_path), header, SampleRouter(), os.environ, 0.1)
    state = run_part(runner, replace(launch("pass"), repeat=2), requests, lambda _: None)
    assert (state.repeat, state.outcome, state.processes) == (2, Outcome.FAILED, ())
    assert state.reason == f"cannot write {tmp_path}/b.D0.data: {IN_PLACE}"
    requests.close()


def test_free_ports_are_free_and_no_two_the_same() -> None:
    ports = free_ports(50)
    assert len(set(ports)) == 50
    assert all(1023 < port < 65536 for port in ports)


def test_free_ports_of_a_range() -> None:
    ports = free_ports(20, (21_000, 21_999))
    assert len(set(ports)) == 20
    assert all(21_000 <= port <= 21_999 for port in ports)
    with socket.socket() as taken:
        taken.bind(("", 0))
        port = taken.getsockname()[1]
        said = f"0 ports of the `rendezvous_ports` {port}-{port} are free, and 1 are needed"
        with pytest.raises(DispatchError, match=said):
            free_ports(1, (port, port))


def test_the_address_of_an_interface() -> None:
    assert address_of("lo") == "127.0.0.1"
    with pytest.raises(DispatchError, match="interface: ib7` has no IPv4 address: `ip addr`"):
        address_of("ib7")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (os_error(errno.EAGAIN), "Resource temporarily unavailable, maybe no more processes can"),
        (os_error(errno.EMFILE, "/dev/null"), "Too many open files: /dev/null, `ulimit -n`"),
        (os_error(errno.E2BIG, "python"), "Argument list too long: python, its arguments"),
        (MemoryError(), "there is not enough memory (`ulimit -v`, or the limit of a job or a"),
        (RuntimeError("can't start new thread"), "a thread cannot start: maybe no more processes"),
    ],
)
def test_what_hinders_the_start_of_a_launch_is_its_failure(
    host: Host, monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str
) -> None:
    """No process is left of it, and no descriptor."""
    real, has_failed = subprocess.Popen, False

    def start(*words: Any, **more: Any) -> Any:
        nonlocal has_failed
        if not has_failed:
            has_failed = True
            raise error
        return real(*words, **more)

    monkeypatch.setattr(keeper.subprocess, "Popen", start)
    one, two = host.benchmark("one", RATE), host.benchmark("two", RATE)
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    assert host.execute(one, two) is Outcome.FAILED
    assert host.told.ended["two"] == Verdict(Outcome.OK)
    assert reason in host.told.ended["one"].reason
    assert not host.state("one").is_final  # `--resume` runs it again
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_no_free_ports_are_an_answer(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_ports(_count: int, _among: None) -> tuple[int, ...]:
        raise os_error(errno.EMFILE)

    monkeypatch.setattr(this_host, "free_ports", no_ports)
    host.nodes[0].send(FindPorts("x", 2))
    ((_, answer),) = host.nodes.receive(600.0)
    assert isinstance(answer, LaunchEnded)
    assert (answer.id, answer.state.outcome) == ("x", Outcome.FAILED)
    assert "Too many open files" in answer.state.reason


def test_what_earlier_launches_left_is_known_to_the_runner_of_another_command(host: Host) -> None:
    own = read_stat(os.getpid())
    assert own is not None
    left = Survivor(os.getpid(), own.born, "b")
    told = ProcessState("b.D0", 1, None, Outcome.TIMEOUT, "late", 1.0, 2.0, survivors=(left,))
    ended = LaunchState(None, Outcome.TIMEOUT, "late", (told,))
    write_record(host.dir.state_json("b"), BenchmarkState("b", launches=[ended]))
    todo = plan(benchmark("a"), benchmark("b"), nodes=1)
    with launch_runner(host.dir, todo, node(0), {}, os.environ) as runner:
        state = runner.run(launch(RATE), host.requests, lambda _: None)
    assert state.survivors == (left,)
