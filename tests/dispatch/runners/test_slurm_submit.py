"""Submission of jobs to Slurm; ``sbatch`` is a script of the test."""

import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from milabench_ddp.config.runner_profile import RunnerProfile, read_profile
from milabench_ddp.dispatch.runners import slurm_job
from milabench_ddp.dispatch.runners.slurm import _last_words, submit
from milabench_ddp.dispatch.runners.slurm_script import flags
from milabench_ddp.errors import DispatchError
from milabench_ddp.results.run_dir import RunDir
from milabench_ddp.results.state import JobState

PROFILE = RunnerProfile(kind="slurm", timeout=30, signal_delay=90)


@pytest.fixture
def folder(tmp_path: Path) -> RunDir:
    (tmp_path / "mine").mkdir()
    return RunDir(tmp_path / "mine")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "sbatch: error: invalid account\nsbatch: error: Batch job submission failed: x\n",
            "invalid account",
        ),
        ("sbatch: error: Batch job submission failed: no\n", "Batch job submission failed: no"),
        ("sbatch: error: a\nsbatch: error: b\nsbatch: error: a\n", "a; b"),
        (" no reason \n", "no reason"),
    ],
)
def test_the_sentence_in_what_sbatch_prints(text: str, words: str) -> None:
    assert _last_words(text) == words


@pytest.fixture
def sbatch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Makes ``sbatch`` a shell script; returns the file with the scripts that it received."""
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    given = tmp_path / "scripts"
    (tmp_path / "bin").mkdir()

    def make(text: str) -> Path:
        for name in ("sbatch", "scancel", "srun"):
            path = tmp_path / "bin" / name
            path.write_text(f'#!/bin/sh\necho {name} "$@" >> {tmp_path}/asked\n')
            path.chmod(0o755)
        with (tmp_path / "bin" / "sbatch").open("a") as script:
            script.write(f'cat "$1" >> {given}\n{text}\n')
        return given

    return make


def jobs() -> list[JobState]:
    return [JobState("b", 2, ("b",)), JobState("c", 1, ("c",)), JobState("a", 1, ("a",))]


def test_jobs_of_one_size_are_an_array(sbatch: Callable[[str], Path], folder: RunDir) -> None:
    given = sbatch("grep -q nodes=2 $1 && echo Submitted batch job 7 || echo Submitted batch job 8")
    mine, noted = jobs(), list[list[str]]()
    submit(folder, PROFILE, mine, lambda group: noted.append([job.id for job in group]))
    assert noted == [["7"], ["8_0", "8_1"]]  # each as soon as it is submitted
    assert [(job.name, job.id) for job in mine] == [("b", "7"), ("c", "8_0"), ("a", "8_1")]
    script = given.read_text()
    assert script.count("#SBATCH --no-kill") == script.count("\ntrap : TERM USR2\n") == 2
    assert "#SBATCH --signal=USR2@90" in script
    assert "srun" not in script
    command = f"{shlex.quote(sys.executable)} -u -m {slurm_job.__name__} {folder.path} "
    assert script.count(f"\n{command}") == 2  # each finds its own benchmarks


FLAGS = """\
kind: slurm
options:
  contiguous: true
  requeue: true
  hold: ~
  overcommit: false
  spread_job: ~
  nice: 100
  comment: it's 5 o'clock
"""
GIVEN = {"--contiguous", "--requeue", "--hold", "--spread-job", "--nice=100"}


def test_options_reach_sbatch_with_and_without_a_value(
    sbatch: Callable[[str], Path], folder: RunDir, tmp_path: Path
) -> None:
    given = sbatch("echo Submitted batch job 7")
    (tmp_path / "r.yaml").write_text(FLAGS)
    profile = read_profile(tmp_path / "r.yaml")
    submit(folder, profile, jobs()[:1], lambda _: None)
    for lines in (
        given.read_text().splitlines(),
        [f"#SBATCH --{flag}" for flag in flags(profile, jobs()[0])],
    ):
        words = {line.removeprefix("#SBATCH ") for line in lines if line.startswith("#SBATCH ")}
        (comment,) = (word for word in words if word.startswith("--comment"))
        assert words >= GIVEN
        assert shlex.split(comment) == ["--comment=it's 5 o'clock"]
        assert "--overcommit" not in words


def test_slurm_takes_all_or_none(
    sbatch: Callable[[str], Path], folder: RunDir, tmp_path: Path
) -> None:
    sbatch(
        "grep -q nodes=2 $1 && { echo Submitted batch job 7; exit; }\n"
        "echo 'sbatch: error: too many nodes' >&2; exit 1"
    )
    with pytest.raises(DispatchError, match=r"^Slurm refuses the job: too many nodes$"):
        submit(folder, PROFILE, jobs(), print)
    assert "scancel 7\n" in (tmp_path / "asked").read_text()


COUNTS = "echo >> $0.calls; echo Submitted batch job $(wc -l < $0.calls)"


@pytest.fixture
def two_in_array(tmp_path: Path, sbatch: Callable[[str], Path]) -> Path:
    """Slurm takes arrays of two jobs at most, and five jobs; returns what it was given."""
    given = sbatch(f'{COUNTS}; [ "$(wc -l < $0.calls)" -lt 4 ] || exit 1')
    scontrol = tmp_path / "bin" / "scontrol"
    scontrol.write_text("#!/bin/sh\necho 'MaxArraySize            = 2'\n")
    scontrol.chmod(0o755)
    return given


def test_an_array_has_no_more_jobs_than_slurm_allows(two_in_array: Path, folder: RunDir) -> None:
    mine = [JobState(f"j{number}", 1, (f"j{number}",)) for number in range(5)]
    noted = list[list[str]]()
    submit(folder, PROFILE, mine, lambda group: noted.append([job.id for job in group]))
    assert noted == [["1_0", "1_1"], ["2_0", "2_1"], ["3"]]
    arrays = [line for line in two_in_array.read_text().splitlines() if "--array" in line]
    assert arrays == ["#SBATCH --array=0-1%2"] * 2
    assert "dependency" not in two_in_array.read_text()


def test_of_arrays_that_were_taken_none_stays_if_a_later_one_is_refused(
    two_in_array: Path, folder: RunDir
) -> None:
    mine = [JobState(f"j{number}", 1, (f"j{number}",)) for number in range(8)]
    with pytest.raises(DispatchError, match="Slurm refuses"):
        submit(folder, PROFILE, mine, print)
    asked = (two_in_array.parent / "asked").read_text().splitlines()
    assert asked[-1] == "scancel 1_0 1_1 2_0 2_1 3_0 3_1"


def test_a_controller_that_does_not_answer_has_not_refused(
    sbatch: Callable[[str], Path], folder: RunDir
) -> None:
    sbatch("echo 'sbatch: error: Socket timed out on send/recv operation' >&2; exit 1")
    with pytest.raises(DispatchError, match=r"^Slurm does not answer, try again later: Socket"):
        submit(folder, PROFILE, jobs(), print)


@pytest.mark.parametrize(
    ("says", "gpus", "has_hint"),
    [
        ("Requested node configuration is not available", 2, True),
        ("Requested node configuration is not available", 0, False),
        ("Invalid generic resource (gres) specification", 2, True),
        ("Invalid account", 2, False),
    ],
)
def test_a_refusal_where_slurm_may_know_no_gpus_says_what_to_do(
    sbatch: Callable[[str], Path], folder: RunDir, says: str, gpus: int, has_hint: bool
) -> None:
    sbatch(f"echo 'sbatch: error: {says}' >&2; exit 1")
    with pytest.raises(DispatchError, match="Slurm refuses the job: ") as error:
        submit(folder, replace(PROFILE, gpus_per_node=gpus), jobs(), print)
    assert ("set `gres: false`" in str(error.value)) == has_hint


def test_there_is_no_slurm(folder: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(DispatchError, match="there is no Slurm here"):
        submit(folder, PROFILE, jobs(), print)


def test_executors_without_a_cluster_have_one_node(folder: RunDir) -> None:
    with pytest.raises(DispatchError, match="cluster: local has one node"):
        submit(folder, replace(PROFILE, cluster="local"), jobs(), print)


def test_a_folder_that_cannot_be_written(sbatch: Callable[[str], Path], folder: RunDir) -> None:
    sbatch("echo Submitted batch job 7")
    (folder.path / "submitit").write_text("in the way")
    with pytest.raises(DispatchError, match="with --job-dir"):
        submit(folder, PROFILE, jobs(), print)
