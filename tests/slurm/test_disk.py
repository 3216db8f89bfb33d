"""Where nothing can be written, or submitted: one sentence, and nothing half done."""

import re
import subprocess
from contextlib import contextmanager, suppress

import pytest

from .sweeps import ended

pytestmark = pytest.mark.slurm


@pytest.fixture
def quick(cluster, make_sweep, tmp_path):
    """A sweep of one benchmark."""
    return make_sweep(tmp_path, {"quick": [1]})


@contextmanager
def file_system(folder, *options):
    """A file system of its own on a folder."""
    folder.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def assert_refused(sweep, command, *words):
    """It says why in one sentence, and leaves no run behind."""
    code, out, err = ended(command)
    last = err.splitlines()[-1]
    assert (code, out) == (2, ""), err
    assert last.startswith("milabench: "), err
    for word in words:
        assert word in last
    runs = sweep.folder / "runs"
    assert not runs.exists() or not list(runs.iterdir())
    assert not sweep.cluster.run("squeue", "-h")


def test_a_partition_that_does_not_exist(quick):
    command = quick.begin("--partition", "nope")
    assert_refused(quick, command, "Slurm refuses the job: invalid partition specified: nope")


def test_a_job_dir_that_is_full(quick):
    with file_system(quick.folder / "jobs", "size=4k", "nr_inodes=2") as jobs:
        command = quick.begin("--job-dir", jobs)
        assert_refused(quick, command, f"cannot write {jobs}", "No space left", "--job-dir")


def test_a_job_dir_that_is_read_only(quick):
    with file_system(quick.folder / "jobs", "ro") as jobs:
        command = quick.begin("--job-dir", jobs)
        assert_refused(quick, command, f"cannot write {jobs}", "Read-only file system", "--job-dir")


def test_a_base_that_is_read_only(quick):
    with file_system(quick.folder / "runs", "ro"):
        assert_refused(quick, quick.begin(), "Read-only file system", "--base")


@pytest.mark.parametrize("count", [2, pytest.param(5, marks=pytest.mark.slow)])
def test_a_disk_that_fills_up_in_the_midst_loses_nothing_that_was_measured(
    cluster, make_sweep, tmp_path, count
):
    sizes, held, quick = {"quick": [count, 1], "held": [count]}, f"held-{count}", f"quick-{count}"
    sweep = make_sweep(tmp_path, sizes, options=f"{{nodelist: 'node[1-{count}]'}}")
    with file_system(tmp_path / "runs", "size=1m"):
        for node in [f"node{1 + rank}" for rank in range(count)]:
            cluster.crash(node)  # it sees the file systems that there were at its start
            cluster.boot(node)
        command = sweep.begin()
        sweep.await_states(**{f"quick_{count}": "ok", f"held_{count}": "running"})
        sweep.await_starts(held, count)
        (sweep.run / ".reserve").unlink()  # not even the states have room
        ballast = sweep.run / "ballast"
        with suppress(OSError):
            ballast.write_bytes(bytes(2 << 20))
        sweep.open()
        code, _, err = ended(command)
        assert code == 1
        why = f"cannot write {sweep.run}/{held}/state.json: No space left on device"
        assert why in err
        assert sweep.states() == {quick: "ok", held: "failed", "quick-1": "not begun"}
        assert sweep.reason(held) == why
        full = f"cannot write {sweep.run}/quick-1/state.json: No space left on device"
        why = rf"its job ended before it began: FAILED, .*: {re.escape(full)} \(see .*\.err\)"
        assert re.fullmatch(why, sweep.reason("quick-1"))
        ballast.unlink()
        sweep.resume()
        assert set(sweep.states().values()) == {"ok"}
        assert sweep.starts() == {quick: count, held: 2 * count, "quick-1": 1}


FILLS = """\
import contextlib, json, os, sys
with open(os.environ["MILABENCH_METRICS"], "a") as out:
    for step in range(400):
        out.write(json.dumps({"task": "train", "rate": 100.0, "units": "items/s"}) + "\\n")
        out.flush()
        if step == 10 and not os.path.exists(sys.argv[1]):
            with contextlib.suppress(OSError), open(sys.argv[1], "wb", buffering=0) as ballast:
                while ballast.write(bytes(4096)):
                    pass
"""
ONE_THAT_FILLS = """\
before: {program: fills.py, plan: {method: per_gpu}, weight: 1, argv: [/dev/null]}
fills: {program: fills.py, plan: {method: per_gpu}, weight: 1, argv: [BALLAST]}
"""


def test_a_benchmark_whose_disk_is_full_has_failed_and_is_run_again(make_sweep, tmp_path):
    """On this host alone: the state has room that was reserved for it."""
    sweep = make_sweep(tmp_path, {"quick": [1]})
    ballast = tmp_path / "runs" / "ballast"
    (tmp_path / "fills.py").write_text(FILLS)
    sweep.config.write_text(ONE_THAT_FILLS.replace("BALLAST", str(ballast)))
    words = ["run", sweep.config, "--device", "cpu", "--gpus", "1", "--name", "sweep"]
    with file_system(tmp_path / "runs", "size=1m"):
        code, out, err = ended(sweep.milabench(*words))
        assert code == 1, err
        why = f"cannot write {sweep.run}/fills.D0.data: No space left on device"
        assert sweep.states() == {"before": "ok", "fills": "failed"}
        assert sweep.reason("fills") == why
        assert "failed   fills: no space left on a disk\n" in out
        assert f"`df -h {sweep.run}/fills.D0.data`" in out
        assert f"[1] {why}" in sweep.table()
        ballast.write_bytes(b"")
        code, _, err = ended(sweep.milabench("run", "--resume", sweep.run))
        assert code == 0, err
        assert sweep.states() == {"before": "ok", "fills": "ok"}
