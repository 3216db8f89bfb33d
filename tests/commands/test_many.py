"""Sweeps over nodes of this machine: to the end, cut off in every way, and taken up again."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from milabench_ddp.cli import main
from tests.support.two_node_sweep import ALL, LOCAL, Sweep, alive, cut_off
from tests.support.wait import wait_for
from tests.support.workplace import Workplace, row


@pytest.fixture
def sweep(at: Workplace) -> Iterator[Sweep]:
    it = Sweep(at)
    yield it
    for pid in it.programs():
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("options", [LOCAL, LOCAL[2:]], ids=["--nodes", "as listed"])
def test_a_sweep_to_its_end(sweep: Sweep, options: tuple[str, ...]) -> None:
    done = sweep.at.milabench("run", "sweep.yaml", *options)
    assert done.code == 0, done.err
    assert sweep.started() == ALL
    assert row(done.out, "a-2")[1:3] == ["0", "2"]  # fail, n
    assert sweep.statuses() == dict.fromkeys(ALL, "ok")
    assert sweep.state("a-2").nodes == ("node0", "node1")
    lines = [line.split(" ", 1)[1] for line in done.err.splitlines() if ": on " in line]
    assert lines[0] == "a-2: on node[0-1], at most 600 s"
    names = {path.name for path in sweep.at.run().glob("*.data")}
    assert names >= {"a-2.D0.node0.data", "a-2.D1.node1.data", "a-1.D0.data"}
    assert sweep.programs() == []


@pytest.mark.slow
def test_a_failure_is_exit_1_and_the_rest_runs_also_when_it_is_resumed(
    sweep: Sweep,
) -> None:
    sweep.breaks("a-2")
    done = sweep.at.milabench("run", "sweep.yaml", *LOCAL)
    assert done.code == 1
    assert sweep.statuses() == {"a-1": "ok", "a-2": "failed", "b-1": "ok", "b-2": "ok"}
    assert "ValueError: the gradient went away" in done.out
    sweep.started()
    assert main(["run", "--resume", str(sweep.at.run())]) == 1  # a failure is a result
    assert sweep.started() == {}
    (sweep.at.run() / "b-1" / "state.json").unlink()
    again = sweep.at.milabench("run", "--resume", str(sweep.at.run()))
    assert (again.code, sweep.started()) == (1, {"b-1": 1})


@pytest.mark.slow
def test_ctrl_c_in_the_midst_and_resume(sweep: Sweep) -> None:
    code, out, err = cut_off(sweep, lambda command: os.killpg(command.pid, signal.SIGINT))
    assert code == 130, err
    assert sweep.programs() == []
    assert sweep.started() == {"a-2": 2, "b-2": 2}
    cancelled = dict.fromkeys(["a-1", "b-1", "b-2"], "cancelled")
    assert sweep.statuses() == {"a-2": "ok", **cancelled}
    assert sweep.state("a-1").reason == "stopped before it began"
    assert row(out, "a-2")[1:3] == ["0", "2"]
    sweep.hold()
    done = sweep.at.milabench("run", "--resume", str(sweep.at.run()))
    assert done.code == 0, done.err
    assert sweep.started() == {"a-1": 1, "b-1": 1, "b-2": 2}
    assert sweep.statuses() == dict.fromkeys(ALL, "ok")
    assert (sweep.at.run() / "b-2" / "attempts" / "1" / "b-2.D1.node1.data").exists()


@pytest.mark.slow
def test_the_command_is_killed_twice_and_nothing_outlives_it(
    sweep: Sweep, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, _ = cut_off(sweep, lambda command: command.kill())
    assert code == -signal.SIGKILL
    wait_for(lambda: not sweep.programs())
    assert sweep.statuses() == {
        "a-1": "not begun", "a-2": "ok", "b-1": "not begun", "b-2": "lost"
    }  # fmt: skip
    (sweep.at.run() / "b-1").mkdir()
    (sweep.at.run() / "b-1" / "state.json").write_text(
        '{"name": "b-1", "status": "lost", "ended": 1, "interrupted": true}'
    )
    sweep.started()
    with sweep.at.start("run", "--resume", str(sweep.at.run())) as command:
        starts = sweep.at.folder / "starts"
        wait_for(lambda: starts.exists() and starts.read_text() == "b-2\nb-2\n")
        # what it has not reached waits, however it ended before
        going = {"a-1": "waiting", "a-2": "ok", "b-1": "waiting", "b-2": "running"}
        assert sweep.statuses() == going
        assert main(["run", "--resume", str(sweep.at.run())]) == 2
        said = capsys.readouterr().err
        assert said.startswith(f"milabench: {sweep.at.run()} has not ended (process ")
        assert said.endswith(f"): `milabench watch {sweep.at.run()}` follows it\n")
        command.kill()
        command.communicate()
    wait_for(lambda: not sweep.programs())
    assert sweep.started() == {"b-2": 2}
    sweep.hold()
    done = sweep.at.milabench("run", "--resume", str(sweep.at.run()))
    assert done.code == 0, done.err
    assert sweep.started() == {"a-1": 1, "b-1": 1, "b-2": 2}
    assert sweep.statuses() == dict.fromkeys(ALL, "ok")


@pytest.mark.slow
def test_an_agent_is_killed(sweep: Sweep) -> None:
    """Its benchmark is lost, the rest goes on with the other node; `--resume` runs what is left."""

    def kill_node1(_: subprocess.Popen[str]) -> None:
        (agent,) = {*alive(str(sweep.at.run()))} & {*alive('"rank":1')}
        os.kill(agent, signal.SIGKILL)

    code, _, err = cut_off(sweep, kill_node1)
    assert code == 1
    assert "node1 has lost its agent: killed by SIGKILL" in err
    assert sweep.statuses() == {"a-1": "ok", "a-2": "ok", "b-1": "ok", "b-2": "lost"}
    assert sweep.state("b-2").reason == "node1 has lost its agent: killed by SIGKILL"
    wait_for(lambda: not sweep.programs())
    sweep.started()
    sweep.hold()
    done = sweep.at.milabench("run", "--resume", str(sweep.at.run()))
    assert (done.code, sweep.started()) == (0, {"b-2": 2}), done.err


@pytest.mark.slow
def test_a_result_that_cannot_be_written_is_told_and_run_again(sweep: Sweep) -> None:
    folder = sweep.at.run() / "b-2"

    def break_it(_: subprocess.Popen[str]) -> None:
        shutil.rmtree(folder)
        folder.write_text("in the way")
        sweep.hold()

    code, _, err = cut_off(sweep, break_it)
    assert code == 1, err
    assert f", cannot write {folder}/state.json: " in err
    assert "Traceback" not in err
    assert sweep.programs() == []
    folder.unlink()
    assert sweep.statuses() == {"a-1": "ok", "a-2": "ok", "b-1": "ok", "b-2": "failed"}
    sweep.started()
    done = sweep.at.milabench("run", "--resume", str(sweep.at.run()))
    assert (done.code, sweep.started()) == (0, {"b-2": 2}), done.err


def test_a_benchmark_that_hangs_ends_at_its_deadline_on_all_its_nodes(sweep: Sweep) -> None:
    sweep.hold("a-2")
    deadline = ("--override", "a-2.max_duration=2", "--select", "a-*")
    done = sweep.at.milabench("run", "sweep.yaml", *LOCAL, *deadline)
    assert (done.code, sweep.statuses()) == (1, {"a-1": "ok", "a-2": "timeout"})
    (launch,) = sweep.state("a-2").launches
    assert [process.outcome for process in launch.processes] == ["timeout"] * 2
    assert {process.reason for process in launch.processes} == {"ended at its max_duration of 2 s"}
    assert sweep.programs() == []


def snapshot(folder: Path) -> dict[str, tuple[int, bytes]]:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


@pytest.mark.parametrize("nodes", ["1", "2"])
def test_resume_of_a_finished_run_touches_nothing(
    sweep: Sweep, nodes: str, capsys: pytest.CaptureFixture[str]
) -> None:
    config = ("--select", f"a-{nodes}", *LOCAL[2:], "--nodes", nodes)
    assert sweep.at.milabench("run", "sweep.yaml", *config).code == 0
    before = snapshot(sweep.at.run())
    sweep.started()
    assert main(["run", "--resume", str(sweep.at.run())]) == 0
    said = capsys.readouterr()
    assert said.err == f"{sweep.at.run()}: nothing to run, all 1 have a result\n"
    assert row(said.out, f"a-{nodes}")[1:3] == ["0", nodes]
    assert sweep.started() == {}
    assert snapshot(sweep.at.run()) == before


def test_resume_of_a_run_on_this_host_that_was_killed(sweep: Sweep) -> None:
    sweep.hold("b-1")
    here = ("--select", "*-1", "--gpus", "2", "--device", "cpu", "--name", "mine")
    with sweep.at.start("run", "sweep.yaml", *here, "--nodes", "1") as process:
        files = [sweep.at.run() / f"b-1.D{k}.data" for k in range(2)]
        wait_for(lambda: all(f.exists() and f.read_text().count('"rate"') == 20 for f in files))
        process.kill()
        process.communicate()
    wait_for(lambda: not sweep.programs())
    assert sweep.started() == {"a-1": 2, "b-1": 2}
    sweep.hold()
    done = sweep.at.milabench("run", "--resume", str(sweep.at.run()))
    assert done.code == 0, done.err
    assert f"{sweep.at.run()}: 1 benchmark, preset small, 2 CPU slots" in done.err
    assert sweep.started() == {"b-1": 2}
    assert row(done.out, "b-1")[1:3] == ["0", "2"]
    assert (sweep.at.run() / "b-1" / "attempts" / "1" / "b-1.D0.data").exists()


def test_resume_where_the_devices_are_not_there_touches_nothing(sweep: Sweep) -> None:
    here = ("--select", "*-1", "--gpus", "2", "--device", "cpu", "--name", "mine")
    assert sweep.at.milabench("run", "sweep.yaml", *here, "--nodes", "1").code == 0
    run = sweep.at.run()
    (run / "b-1" / "state.json").unlink()
    plan = run / "plan.json"
    plan.write_text(plan.read_text().replace('"arch": "cpu"', '"arch": "hpu"'))
    before = snapshot(run)
    done = sweep.at.milabench("run", "--resume", str(run))
    assert (done.code, done.out) == (2, "")
    assert "hpu" in done.err
    assert snapshot(run) == before


@pytest.mark.slow
def test_ranks_of_two_nodes_work_together(at: Workplace) -> None:
    """The shipped sweep's all-reduce, whose program checks the sums."""
    words = ("--select", "all_reduce*", "--nodes", "1,2", "--gpus", "2", "--device", "cpu")
    done = at.milabench("run", "sweeps/small", *words, "--name", "mine")
    assert done.code == 0, done.err
    assert [row(done.out, f"all_reduce-{n}")[1] for n in (1, 2)] == ["0", "0"]
    said = (at.run() / "all_reduce-2.0.node0.data").read_text().replace(" ", "")
    assert said.count('"ranks":4,') == said.count('"right":true') > 0
