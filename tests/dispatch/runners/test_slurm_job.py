"""The task in a job of Slurm; the test stands in for Slurm."""

import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.codec import write_record
from milabench_ddp.config.runner_profile import RunnerProfile
from milabench_ddp.dispatch import slurm_nodes, slurm_queue
from milabench_ddp.dispatch.agent_main import AgentOptions
from milabench_ddp.dispatch.coordinator import Coordinator
from milabench_ddp.dispatch.runners import slurm_job
from milabench_ddp.dispatch.runners.agents import AgentCommand, agent_script
from milabench_ddp.dispatch.runners.slurm_job import JobTask
from milabench_ddp.errors import DispatchError
from milabench_ddp.events import Outcome, Status, Verdict
from milabench_ddp.results.lock import held
from milabench_ddp.results.node_state import NodeState, NodeStatus, read_nodes
from milabench_ddp.results.read_state import read_benchmark, read_header, refuse
from milabench_ddp.results.run_dir import RunDir
from milabench_ddp.results.state import BenchmarkState, JobState
from tests.support.launches import benchmark
from tests.support.run_contexts import context, program
from tests.support.started_agent import RATE, STAYS

PREEMPTED = slurm_queue.PREEMPTED


@pytest.fixture
def handlers() -> Iterator[None]:
    """Restore the signal handlers, since a job sets its own."""
    before = signal.getsignal(signal.SIGUSR2)
    yield
    signal.signal(signal.SIGUSR2, before)


def task(folder: Path, **texts: str) -> JobTask:
    """The task of a job with these programs; the run also has a benchmark of another job."""
    parts = [program(folder, name, text) for name, text in texts.items()]
    context(folder, *parts, benchmark("other"))
    return JobTask(str(folder), JobState("all", 1, tuple(texts)))


def status(folder: Path, name: str) -> str:
    state = read_benchmark(RunDir(folder), name)
    return "none" if state is None else str(state.status)


@pytest.mark.usefixtures("handlers")
def test_outside_of_slurm_a_job_runs_on_this_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a process of submitit's local executor; a benchmark with a result is not run again."""
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    it = task(tmp_path, done=RATE + "sys.exit(3)", broken=RATE + "sys.exit(3)", good=RATE)
    ended = BenchmarkState("done", Status.OK, ended=2.0)
    write_record(RunDir(tmp_path).state_json("done"), ended)
    assert it() is Outcome.FAILED
    found = [status(tmp_path, name) for name in ("done", "broken", "good", "other")]
    assert found == ["ok", "failed", "ok", "none"]
    assert "broken" in capsys.readouterr().out  # the log of the job tells of it


@pytest.mark.usefixtures("handlers")
def test_a_job_that_cannot_write_a_state_fails_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    it = task(tmp_path, broken=RATE, good=RATE)
    state = RunDir(tmp_path).state_json("broken")
    state.with_name(f".{state.name}.{os.getpid()}").mkdir(parents=True)  # in the way
    with pytest.raises(DispatchError, match=f"cannot write {state}: Is a directory"):
        it()
    assert [status(tmp_path, name) for name in ("broken", "good")] == ["none", "ok"]


def test_in_slurm_the_agents_are_steps_of_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setattr(slurm_nodes, "expanded", lambda _: ["n01", "n02", "n03"])
    asked = []

    def ask(*words: str, cwd: str) -> str:
        assert Path(cwd) != Path.cwd()
        asked.append(words)
        return ""

    monkeypatch.setattr(slurm_nodes, "output_of", ask)
    found: dict[str, AgentCommand] = {}
    alone: list[AgentCommand] = []

    @contextmanager
    def agents(_context: Any, commands: Mapping[str, AgentCommand], *rest: Any) -> Iterator[None]:
        found.update(commands)
        alone.append(rest[-1]("n02"))
        yield None

    monkeypatch.setattr(slurm_job, "agents", agents)
    monkeypatch.setattr(Coordinator, "execute", lambda _: Outcome.OK)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    parts = [benchmark("a", num_machines=2), benchmark("b", num_machines=1), benchmark("c")]
    profile = RunnerProfile(
        "slurm",
        setup=("module load cuda",),
        environment={"NCCL_DEBUG": "WARN"},
        srun_options=("--mpi=none", "--exact"),
    )
    run = context(tmp_path, *parts, nodes=3, runner=profile)
    write_record(run.run.state_json("c"), BenchmarkState("c", Status.OK, ended=2.0))
    with_jobs(tmp_path, "7")
    assert JobTask(str(tmp_path), JobState("all", 3, ("a", "b", "c")))() is Outcome.OK
    assert list(found) == ["n01", "n02"]  # the third is not needed any more
    assert asked == [("scontrol", "update", "JobId=7", "NumNodes=2")]
    assert found["n01"] is found["n02"]  # one step has both
    for command, rank, hosts in [(found["n01"], 0, ("n01", "n02")), (alone[0], 1, ("n02",))]:
        assert command.step == hosts
        words = command.shell
        assert words[0] == "srun"
        step = {"--overlap", "--label", "--wait=0", "--kill-on-bad-exit=0", "--no-kill"}
        count = len(hosts)
        where = {f"--nodes={count}", f"--ntasks={count}", f"--nodelist={','.join(hosts)}"}
        assert {*step, "--mpi=none", "--exact", *where} <= set(words)
        assert words[-2:] == ("bash", "-c")
        options = AgentOptions(tmp_path, rank, hosts=hosts, is_again=bool(rank), job="all")
        script = agent_script(options, profile)
        assert command.script == script


@pytest.mark.parametrize(("nodes", "sizes"), [(8, [8]), (9, [8, 1]), (1024, [32] * 32)])
def test_the_nodes_of_a_step_are_few_and_so_are_the_steps(nodes: int, sizes: list[int]) -> None:
    parts = slurm_job.parts([f"n{number}" for number in range(nodes)])
    assert [len(part) for part in parts] == sizes
    assert [name for part in parts for name in part] == [f"n{number}" for number in range(nodes)]


def test_a_job_with_nothing_left_to_do_ends_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "7")

    def agents(*_: Any) -> Any:
        raise AssertionError("no agent is needed")

    monkeypatch.setattr(slurm_job, "agents", agents)
    it = task(tmp_path, done=RATE)
    write_record(RunDir(tmp_path).state_json("done"), BenchmarkState("done", Status.OK, ended=2.0))
    assert it() is Outcome.OK


def test_the_node_of_a_coordinator_that_ended_without_a_word_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As after power off of the first node: the job started again on others."""

    def says(*words: str, seconds: float) -> str:
        return "down*\n" * (words[0] == "sinfo" and "--nodes=n09" in words)

    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setattr(slurm_queue, "output_of", says)
    monkeypatch.setattr(JobTask, "_nodes", contextmanager(lambda *_: iter([None])))
    monkeypatch.setattr(Coordinator, "execute", lambda _: Outcome.OK)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    it = task(tmp_path, b=RATE)
    with_jobs(tmp_path, "7")
    run = RunDir(tmp_path)
    run.nodes.mkdir()
    run.job_lock("all").write_text("n09 123 456\n")
    assert it() is Outcome.OK
    state = read_nodes(run, refuse)["n09"]
    dead = "Slurm has it as down, which does not respond"
    said = f"had the coordinator, which ended without a word, and {dead}"
    assert (state.problem, state.losses) == ("", (said,))
    assert said in capsys.readouterr().out
    assert it() is Outcome.OK  # and once it has ended with one
    assert capsys.readouterr().out == ""


def with_jobs(folder: Path, *ids: str) -> None:
    """Note these jobs in the header of a run."""
    header = read_header(RunDir(folder))
    header.jobs = [JobState(f"job{id}", 1, (), id) for id in ids]
    write_record(RunDir(folder).run_json, header)


def test_a_job_that_is_on_no_record_does_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command that submitted it was killed before it could note it, and may be resumed."""
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setattr(slurm_job.time, "sleep", lambda _: None)
    task(tmp_path, b=RATE)
    with_jobs(tmp_path, "8")
    slurm_job.main(str(tmp_path))
    assert status(tmp_path, "b") == "none"
    assert "does not know this job" in capsys.readouterr().out


@pytest.mark.usefixtures("handlers")
@pytest.mark.parametrize("index", ["0", "1"])
def test_a_job_finds_its_benchmarks_once_its_id_is_on_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, index: str
) -> None:
    """It may begin before the command that submitted it has noted it."""
    monkeypatch.setenv("SLURM_JOB_ID", "9")
    monkeypatch.setenv("SLURM_ARRAY_JOB_ID", "7")
    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", index)
    task(tmp_path, b=RATE)
    monkeypatch.setattr(slurm_job.time, "sleep", lambda _: with_jobs(tmp_path, "7_0", "7_1"))
    ran = []
    monkeypatch.setattr(JobTask, "__call__", lambda it: ran.append(it))
    slurm_job.main(str(tmp_path))
    assert ran == [JobTask(str(tmp_path), JobState(f"job7_{index}", 1, (), f"7_{index}"))]


@pytest.mark.usefixtures("handlers")
def test_nodes_of_an_earlier_start_are_of_the_past_but_those_of_other_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What they have lost stays a finding, but is no error of what has run again elsewhere."""
    monkeypatch.setattr(slurm_job, "own_id", lambda: "7_1")
    monkeypatch.setattr(JobTask, "_nodes", contextmanager(lambda *_: iter([None])))
    monkeypatch.setattr(Coordinator, "execute", lambda _: Outcome.OK)
    it, run = task(tmp_path, good=RATE), RunDir(tmp_path)
    with_jobs(tmp_path, "7_0", "7_1", "7_2")
    for name, job in (("n1", "7_0"), ("n5", "7_1"), ("n9", "7_2")):
        write_record(run.node_json(name), NodeState(name, NodeStatus.LOST, "is gone", job=job))
    assert it() is Outcome.OK
    found = read_nodes(run, refuse).values()
    lost, left_out = NodeStatus.LOST, NodeStatus.LEFT_OUT
    assert [state.status for state in found] == [lost, left_out, lost]
    assert all(state.all_losses == ("is gone",) for state in found)


@pytest.mark.usefixtures("handlers")
@pytest.mark.parametrize("number", [signal.SIGUSR2, signal.SIGTERM])
@pytest.mark.parametrize("why", [PREEMPTED, slurm_queue.LIMIT])
def test_a_signal_of_slurm_stops_it_and_a_job_that_is_preempted_starts_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, why: Verdict
) -> None:
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    requeued: list[RunDir] = []
    monkeypatch.setattr(slurm_queue, "why_stopped", lambda: why)
    monkeypatch.setattr(slurm_job, "restart", requeued.append)
    it = task(tmp_path, stays=f"import os\nos.kill({os.getpid()}, {int(number)})\n{STAYS}", b=RATE)
    assert it() is Outcome.CANCELLED
    state = read_benchmark(RunDir(tmp_path), "stays")
    assert state is not None
    assert Verdict(Outcome(state.status), state.reason) == why
    assert not state.is_final
    assert status(tmp_path, "b") == (
        "none" if why == PREEMPTED else "not begun"
    )  # it waits, or not
    assert requeued == ([RunDir(tmp_path)] if why == PREEMPTED else [])
    assert os.environ.get("SLURM_JOB_ID") is None


@pytest.mark.usefixtures("handlers")
def test_of_two_coordinators_of_a_job_one_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when a node was taken for dead, and its job was started again elsewhere."""
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    monkeypatch.setattr(slurm_job, "_LEASE", 0.0)
    it = task(tmp_path, one=RATE)
    with (
        held(RunDir(tmp_path).job_lock("all")),
        pytest.raises(DispatchError, match=rf"has a coordinator already \(process {os.getpid()} "),
    ):
        it()
    assert status(tmp_path, "one") == "none"
    assert it() is Outcome.OK
