"""Why a job ended before its benchmarks, from its log and from Slurm."""

from pathlib import Path

from milabench_ddp.config.runner_profile import RunnerProfile
from milabench_ddp.dispatch.job_follower import why_ended
from milabench_ddp.dispatch.slurm_queue import NO_FILES
from milabench_ddp.results.run_dir import RunDir
from milabench_ddp.results.state import JobState
from tests.support.launches import benchmark
from tests.support.run_contexts import context

JOB = JobState("all", 2, ("b",), id="7")


def run(folder: Path, job_dir: Path | None = None) -> RunDir:
    profile = RunnerProfile("slurm", job_dir=str(job_dir) if job_dir else None)
    return context(folder, benchmark("b"), nodes=2, runner=profile).run


def test_the_last_line_of_the_log_is_the_reason(tmp_path: Path) -> None:
    jobs = tmp_path / "jobs"
    for folder, job_dir in ((tmp_path / "submitit", None), (jobs, jobs)):
        (folder / "7").mkdir(parents=True)
        log = folder / "7" / "7_0_log.err"
        log.write_text("line 23: /x/python: No such file\nslurmstepd: error: *** JOB 7\n")
        said = why_ended(run(tmp_path, job_dir), JOB, "exit status 127 on node1")
        why = "exit status 127 on node1: line 23: /x/python: No such file"
        assert said == f"{why} (see {log})"


def test_a_folder_that_the_node_does_not_see(tmp_path: Path) -> None:
    said = why_ended(run(tmp_path, Path("/jobs")), JOB, f"node1 {NO_FILES}")
    assert said == (
        "node1 could not open the files of its job in /jobs: choose a folder that all nodes see, "
        "with --base or --job-dir"
    )


def test_what_is_not_known_is_not_said(tmp_path: Path) -> None:
    assert why_ended(RunDir(tmp_path), JOB, "") == ""  # no plan
    assert why_ended(run(tmp_path), JOB, "") == ""  # no log
    assert why_ended(run(tmp_path), JOB, "exit status 1") == "exit status 1"
