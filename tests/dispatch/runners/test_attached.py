"""Runs that end with the process of their command, and signals to that process."""

import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from msgspec.structs import replace

from milabench_ddp.config.runner_profile import RunnerProfile
from milabench_ddp.dispatch import benchmark_run
from milabench_ddp.dispatch.agent_main import AgentOptions
from milabench_ddp.dispatch.node_request import NodeRequest
from milabench_ddp.dispatch.nodes import Nodes
from milabench_ddp.dispatch.run_context import RunContext, resume_run
from milabench_ddp.dispatch.runners.agents import AgentCommand, AgentRunner, agent_script
from milabench_ddp.dispatch.runners.attached import HostRunner
from milabench_ddp.dispatch.runners.local import LocalRunner
from milabench_ddp.errors import DispatchError, RunDirError
from milabench_ddp.events import Event, Metrics, Outcome, Started, Status, Verdict
from milabench_ddp.launch.stop_requests import StopRequests
from milabench_ddp.machine.provenance import collect
from milabench_ddp.plan.planner import plan_launches
from milabench_ddp.progress import ProgressObserver
from milabench_ddp.results.read import read_events
from milabench_ddp.results.read_state import read_benchmark, read_header, require_state
from milabench_ddp.results.run_dir import RunDir, save_state
from milabench_ddp.results.state import BenchmarkState
from tests.fakes.nvml import FakeNvml, gpus
from tests.support.progress import RecordedProgress
from tests.support.run_contexts import context, program
from tests.support.started_agent import RATE, STAYS


class Interrupts(RecordedProgress):
    """Sends the command a signal at the first rate."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self._number = number

    def event(self, event: Event) -> None:
        super().event(event)
        if isinstance(event, Metrics):
            os.kill(os.getpid(), self._number)


def run_here(run: RunContext, told: RecordedProgress) -> Outcome:
    return HostRunner().execute((run, told))[0]


def test_it_writes_how_the_run_ended(tmp_path: Path) -> None:
    run = context(tmp_path, program(tmp_path, "a", RATE))
    assert run_here(run, RecordedProgress()) is Outcome.OK
    assert read_header(run.run).outcome is Outcome.OK


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (signal.SIGINT, "stopped on request"),
        (signal.SIGTERM, "stopped on request"),
        (signal.SIGXCPU, "stopped by SIGXCPU"),
    ],
)
def test_a_signal_stops_the_run(tmp_path: Path, number: int, reason: str) -> None:
    before = signal.getsignal(number)
    told = Interrupts(number)
    run = context(tmp_path, program(tmp_path, "a", STAYS), program(tmp_path, "b", RATE))
    assert run_here(run, told) is Outcome.CANCELLED
    assert read_header(run.run).outcome is Outcome.CANCELLED
    assert told.ended == {
        "a": Verdict(Outcome.CANCELLED, reason),
        "b": Verdict(Outcome.CANCELLED, "stopped before it began"),
    }
    assert signal.getsignal(number) == before


def test_a_state_for_which_there_is_no_room_is_told_by_the_header(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where many benchmarks meet a full disk: room for the end of the run is reserved."""
    full = f"cannot write {tmp_path}: No space left on device"

    def save(run: RunDir, path: Path, record: object) -> None:
        if path == run.state_json("a"):
            raise RunDirError(full)
        save_state(run, path, record)

    monkeypatch.setattr(benchmark_run, "save_state", save)
    run = context(tmp_path, program(tmp_path, "a", RATE), program(tmp_path, "b", RATE))
    told = RecordedProgress()
    assert run_here(run, told) is Outcome.FAILED
    assert told.ended == {"a": Verdict(Outcome.FAILED, full), "b": Verdict(Outcome.OK)}
    assert read_benchmark(run.run, "a") is None
    found = require_state(run.run)
    assert found.header.outcome is Outcome.FAILED
    assert (found.benchmarks["a"].status, found.benchmarks["a"].reason) == (Status.FAILED, full)
    assert not found.benchmarks["a"].is_final  # `--resume` runs it again, once there is room
    run.close()
    resumed = resume_run(run.run, {})
    assert [benchmark.name for benchmark in resumed.benchmarks] == ["a"]
    assert resumed.header.unwritten == {}
    resumed.close()


def test_what_is_run_again_waits_before_it_begins(tmp_path: Path) -> None:
    run = context(tmp_path, program(tmp_path, "a", RATE))
    folder = run.run.benchmark("a")
    folder.mkdir()
    run.run.state_json("a").write_text('{"name": "a", "status": "lost", "ended": 1.0}')

    class Looks(HostRunner):
        def nodes(
            self, context: RunContext, requests: StopRequests, observer: ProgressObserver
        ) -> AbstractContextManager[Nodes]:
            assert read_benchmark(run.run, "a") == BenchmarkState("a")
            return super().nodes(context, requests, observer)

    assert Looks().execute((run, RecordedProgress())) == [Outcome.OK]
    state = read_benchmark(run.run, "a")
    assert state is not None
    assert state.status is Status.OK


def test_nodes_that_cannot_be_started(tmp_path: Path) -> None:
    run, told = context(tmp_path, program(tmp_path, "a", RATE)), RecordedProgress()

    class Nowhere(AgentRunner):
        def commands(self, context: RunContext) -> Mapping[str, AgentCommand]:
            return {"n0": AgentCommand(("/nowhere/ssh", "n0"), "")}

    with pytest.raises(DispatchError, match="cannot start /nowhere/ssh"):
        Nowhere().execute((run, told))
    assert read_header(run.run).outcome is None


def test_the_cluster_of_this_host() -> None:
    found = HostRunner().cluster(NodeRequest(1, 2, "cpu"))
    assert (len(found.nodes), len(found.nodes[0].devices), found.is_synthetic) == (1, 2, False)


def test_it_runs_here_and_tells_of_every_event(tmp_path: Path) -> None:
    told = RecordedProgress()
    run = context(tmp_path, program(tmp_path, "a", RATE))
    assert HostRunner().execute((run, told)) == [Outcome.OK]
    assert read_header(run.run).outcome is Outcome.OK
    assert [type(event) for event in told.events[:1]] == [Started]
    assert '"rate": 1.0' in run.run.data("a.D0").read_text()
    assert not run.run.node_log("node0").exists()  # there is no agent


def test_each_gpu_has_its_process_on_the_cores_next_to_it(
    tmp_path: Path, stub: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As ``dry`` prints it, and as the provenance says."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    usable = sorted(os.sched_getaffinity(0))
    if len(usable) < 2:
        pytest.skip("one core")
    near = [usable[0], usable[-1]]
    stub(f"0 cpus {1 << near[0]:x}", f"1 cpus {1 << near[1]:x}")
    run = context(tmp_path, program(tmp_path, "a", f"{RATE}print(os.sched_getaffinity(0))"))
    run.plan = replace(run.plan, arch="cuda", gpus=None)
    cluster = HostRunner().cluster(NodeRequest(1, None, "cuda"))
    run.header.machine = collect("cuda", cluster.nodes[0], [], {})
    assert HostRunner().execute((run, RecordedProgress())) == [Outcome.OK]
    gpus = run.header.machine["accelerators"]["gpus"]
    (planned,) = plan_launches(run.benchmarks[0], cluster, run.plan.site)
    for index, core in enumerate(near):
        record = read_events(run.run.data(f"a.D{index}"))
        assert (record.start or {})["command"] == list(planned.processes[index].argv)
        assert run.run.stream(f"a.D{index}", "stdout").read_text() == f"{{{core}}}\n"
        assert gpus[str(index)]["cpus"] == str(core)


def test_the_cluster_of_parts_of_this_host() -> None:
    found = LocalRunner().cluster(NodeRequest(3, 2, "cpu"))
    assert [node.name for node in found.nodes] == ["node0", "node1", "node2"]
    assert [len(node.devices) for node in found.nodes] == [2, 2, 2]
    assert not found.is_synthetic


def test_parts_with_more_gpus_than_there_are_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml(gpus(4)))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    with pytest.raises(DispatchError, match=r"^3 nodes of 2 GPUs are more than the 4 of this host"):
        LocalRunner().cluster(NodeRequest(3, 2, "cuda"))
    found = LocalRunner().cluster(NodeRequest(2, None, "cuda"))
    assert [len(node.devices) for node in found.nodes] == [2, 2]


def test_each_part_has_an_address_of_its_own(tmp_path: Path) -> None:
    profile = RunnerProfile("local", setup=("ulimit -n 64",), environment={"A": "1"})
    found = LocalRunner().commands(context(tmp_path, nodes=3, runner=profile))
    assert list(found) == ["node0", "node1", "node2"]
    for rank, command in enumerate(found.values()):
        options = AgentOptions(tmp_path, rank, f"127.0.0.{rank + 1}", parts=3)
        script = agent_script(options, profile)
        assert command == AgentCommand(("bash", "-c"), script)


def test_a_run_on_two_parts(tmp_path: Path) -> None:
    """Real agents, from their start to their end."""
    told = RecordedProgress()
    run = context(
        tmp_path,
        program(tmp_path, "both", RATE, num_machines=2),
        program(tmp_path, "one", RATE + "sys.exit(3)", num_machines=1),
        nodes=2,
        runner=RunnerProfile("local"),
    )
    assert LocalRunner().execute((run, told)) == [Outcome.FAILED]
    assert told.begun == [("both", ("node0", "node1")), ("one", ("node0",))]
    assert told.messages == []
    assert read_header(run.run).outcome is Outcome.FAILED
    state = read_benchmark(run.run, "both")
    assert state is not None
    assert [each.tag for each in state.launches[0].processes] == ["both.D0.node0", "both.D1.node1"]
    assert not any(run.run.node_log(f"node{k}").exists() for k in range(2))  # nothing to tell


def test_two_runs_take_turns(tmp_path: Path) -> None:
    """Each has its own files, and its observer what happens in it."""
    runs, told = [], []
    for side in ("a", "b"):
        (tmp_path / side).mkdir()
        parts = [program(tmp_path / side, name, RATE) for name in ("x", "y")]
        runs.append(context(tmp_path / side, *parts[: 2 if side == "a" else 1], repeats=3, seed=3))
        told.append(RecordedProgress())
    assert HostRunner().execute(*zip(runs, told, strict=True)) == [Outcome.OK, Outcome.OK]
    order = []
    for run in runs:
        assert read_header(run.run).outcome is Outcome.OK
        for name, state in require_state(run.run).benchmarks.items():
            for launch in state.launches:
                (process,) = launch.processes
                assert '"rate": 1.0' in run.run.data(process.tag).read_text()
                order.append((process.started, f"{run.run.name} {name} {launch.repeat}"))
    begun = [what for _, what in sorted(order)]
    assert [what for what in begun if " x " in what] == [
        *("a x 0", "b x 0", "b x 1", "a x 1", "a x 2", "b x 2"),
    ]
    rounds = [int(what[-1]) for what in begun]
    assert rounds == sorted(rounds)
    assert [len([it for it in each.events if isinstance(it, Started)]) for each in told] == [6, 3]


def test_what_the_preflight_says_is_on_record_in_both_runs(tmp_path: Path) -> None:
    runs, told = [], []
    for side in ("a", "b"):
        (tmp_path / side).mkdir()
        parts = program(tmp_path / side, "x", RATE)
        runs.append(context(tmp_path / side, parts, seed=3))
        runs[-1].warnings = (f"the driver is old ({side})",)
        told.append(RecordedProgress())
    HostRunner().execute(*zip(runs, told, strict=True))
    for side, run, seen in zip("ab", runs, told, strict=True):
        (node,) = require_state(run.run).nodes.values()
        assert node.warnings == (f"the driver is old ({side})",)
        assert any(f"the driver is old ({side})" in message for message in seen.messages)


def test_a_signal_stops_both_runs(tmp_path: Path) -> None:
    runs = []
    for side, text in (("a", RATE), ("b", STAYS)):
        (tmp_path / side).mkdir()
        parts = program(tmp_path / side, "x", text)
        runs.append(context(tmp_path / side, parts, repeats=2, seed=3))
    told = [RecordedProgress(), Interrupts(signal.SIGINT)]
    assert HostRunner().execute(*zip(runs, told, strict=True)) == [Outcome.CANCELLED] * 2
    stopped = Verdict(Outcome.CANCELLED, "stopped on request")
    for run, observer, launches in zip(
        runs, told, ([Outcome.OK], [Outcome.CANCELLED]), strict=True
    ):
        assert observer.ended == {"x": stopped}
        found = require_state(run.run)
        assert found.header.outcome is Outcome.CANCELLED
        assert [each.outcome for each in found.benchmarks["x"].launches] == launches
