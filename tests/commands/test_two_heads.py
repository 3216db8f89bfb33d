"""Several commands at once on one run: one runs it, and the others name that one."""

import os
import re
from pathlib import Path

import pytest

from milabench_ddp.codec import read_record, write_record
from milabench_ddp.commands import watch
from milabench_ddp.dispatch.slurm_queue import JobStatus
from milabench_ddp.events import Outcome
from milabench_ddp.options.reading import RunFolderOptions
from milabench_ddp.results.run_dir import RunDir
from milabench_ddp.results.state import JobState, RunHeader
from tests.support.launches import benchmark
from tests.support.run_contexts import context
from tests.support.wait import PATIENCE, wait_for
from tests.support.workplace import GOOD, Suite, Workplace

WORDS = ("--device", "cpu", "--gpus", "1", "--gpu-poll", "0")
AT_ONCE = 3


def test_of_commands_that_resume_at_once_one_runs(at: Workplace, suite: Suite):
    """Its program ends once the others have been refused."""
    held = GOOD + "\nwhile not os.path.exists('go'): time.sleep(0.01)"
    with at.start("run", suite(one=held), *WORDS, "--name", "mine", start_new_session=True) as it:
        wait_for(lambda: (at.run() / "one.D0.data").exists())
        it.kill()
        it.communicate()
    words = ("run", "--resume", str(at.run()), "--quiet")
    commands = [at.start(*words) for _ in range(AT_ONCE)]
    wait_for(lambda: sum(each.poll() is not None for each in commands) == AT_ONCE - 1)
    (at.folder / "go").touch()
    said = [each.communicate(timeout=PATIENCE) for each in commands]
    assert sorted(each.returncode for each in commands) == [0, 2, 2]
    (winner,) = [each.pid for each in commands if each.returncode == 0]
    for command, (out, err) in zip(commands, said, strict=True):
        if command.pid == winner:
            continue
        host = re.escape(os.uname().nodename)
        assert out == ""
        assert re.fullmatch(
            rf"milabench: .*/mine has not ended \(process {winner} on {host}, since .*\): "
            r"`milabench watch .*/mine` follows it\n",
            err,
        )
    data = (at.run() / "one.D0.data").read_text()
    assert (data.count('"event": "start"'), data.count('"event": "end"')) == (1, 1)
    assert at.statuses() == {"one": "ok"}


def test_of_new_runs_of_one_name_one_runs(at: Workplace, suite: Suite):
    words = ("run", suite(one=GOOD), *WORDS, "--name", "mine")
    commands = [at.start(*words) for _ in range(AT_ONCE)]
    said = [each.communicate(timeout=PATIENCE)[1] for each in commands]
    assert sorted(each.returncode for each in commands) == [0, 2, 2]
    assert sum("the run 'mine' exists already" in err for err in said) == AT_ONCE - 1
    data = (at.run() / "one.D0.data").read_text()
    assert data.count('"event": "start"') == 1


def test_jobs_that_are_submitted_while_a_run_is_cancelled_are_cancelled_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """`--resume` at the same time: either it is refused, or its jobs are cancelled."""
    run = context(tmp_path, benchmark("a")).run
    header = read_record(run.run_json, RunHeader)
    header.jobs = [JobState("all", 1, ("a",), "7")]
    write_record(run.run_json, header)
    ended: list[str] = []

    class Slurm:
        def statuses(self, ids: list[str]) -> dict[str, JobStatus]:
            return {each: JobStatus("RUNNING", each in ended) for each in ids}

        def cancel(self, ids: list[str]) -> bool:
            ended.extend(ids)
            return True

    def settle(it: RunDir) -> None:
        now = read_record(it.run_json, RunHeader)
        if "8" in ended:
            now.outcome = Outcome.CANCELLED
        elif len(now.jobs) == 1:
            now.jobs.append(JobState("all", 1, ("a",), "8"))
        write_record(it.run_json, now)

    monkeypatch.setattr(watch, "scheduler_of", lambda _: Slurm())
    monkeypatch.setattr(watch, "settle", settle)
    monkeypatch.setattr(watch.time, "sleep", lambda _: None)
    assert watch.cancel(RunFolderOptions(run=str(run.path))) == 0
    assert ended == ["7", "8"]
    assert capsys.readouterr().err == "cancelled: 7\ncancelled: 8, submitted meanwhile\n"


@pytest.mark.parametrize(
    "name", ["plan.json", "run.json", ".alive", "one/.alive", "one/state.json"]
)
def test_a_fifo_in_a_run_is_not_waited_for(at: Workplace, suite: Suite, name: str):
    done = at.milabench("run", suite(one=GOOD + "\nsys.exit(3)"), *WORDS, "--name", "mine")
    assert done.code == 1
    path = at.run() / name
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    done = at.milabench("run", "--resume", str(at.run()))
    assert done.code in (1, 2)
    assert "Traceback" not in done.err
    assert "milabench itself" not in done.err
