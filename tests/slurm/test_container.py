"""Charliecloud for real: agents and programs in a container, on the nodes of a cluster."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from .sweeps import REPOSITORY, ended

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.skipif(not shutil.which("ch-run"), reason="needs charliecloud"),
]
SHARED = ("/tmp", "/dev", "/proc", "/sys")  # a container has those of its node
ETC = ("passwd", "group", "hosts", "resolv.conf", "nsswitch.conf", "ld.so.cache")


@pytest.fixture
def make_boxed(make_sweep, tmp_path):
    """Makes sweeps in a container of this machine's own Python, whose root has a file ``mark``."""

    def make(sizes, **container):
        image, places = tmp_path / "image", {"/usr", sys.base_prefix, sys.prefix, *sys.path}
        for name in ("dev", "proc", "sys", "tmp", "etc", "run", "var", "root", "home", "mnt"):
            (image / name).mkdir(parents=True)
        for name in ("bin", "sbin", "lib", "lib64"):
            (image / name).symlink_to(f"usr/{name}")
        for name in ETC:
            shutil.copy(Path("/etc", name), image / "etc")
        (image / "mark").touch()
        mounts = sorted(
            place for place in places if Path(place).is_dir() and not place.startswith(SHARED)
        )
        for place in [*mounts, str(REPOSITORY)]:
            (image / place.lstrip("/")).mkdir(parents=True, exist_ok=True)
        container = {"kind": "charliecloud", "image": str(image), "mounts": mounts, **container}
        settings = {"environment": {"USER": "root"}, "python": sys.executable, "gres": "false"}
        sweep = make_sweep(tmp_path, sizes, container=container, **settings)
        program = sweep.folder / "program.py"
        told = "\nassert 'mark' in os.listdir('/')\nprint(os.getcwd(), flush=True)\n"
        program.write_text(program.read_text().replace("\nkind, name", f"{told}kind, name"))
        return sweep

    return make


def programs_of(sweep):
    """The processes of this machine that run the program of a sweep."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if os.fsencode(sweep.folder / "program.py") in words:
            found.append(words)
    return found


def test_agents_supervise_programs_inside_and_the_image_is_on_record(make_boxed):
    sweep = make_boxed({"quick": [2, 1], "hangs": [1]})
    code, out, err = ended(sweep.begin())
    assert code == 1, err
    assert sweep.states() == {"quick-2": "ok", "quick-1": "ok", "hangs-1": "timeout"}
    assert {path.read_text() for path in sweep.run.glob("*.stdout")} == {f"{REPOSITORY}\n"}
    image = json.loads((sweep.run / "run.json").read_text())["machine"]["container"]
    assert f"image image {image['digest'][:19]}" in out
    assert not programs_of(sweep)


def test_what_is_cancelled_leaves_nothing_inside(cluster, make_boxed):
    sweep = make_boxed({"held": [2]})
    command = sweep.begin()
    sweep.await_starts("held-2", 2)
    assert len(programs_of(sweep)) >= 2
    cluster.run("scancel", *sweep.jobs())
    code, _, err = ended(command)
    assert code != 0, err
    cluster.wait("the end of its programs", 60, lambda: not programs_of(sweep))


def test_the_script_of_dry_runs_inside(cluster, make_boxed, tmp_path):
    sweep = make_boxed({"quick": [2]})
    words = ["dry", sweep.config, "--runner", sweep.profile, "--device", "cpu", "--gpus", "1"]
    code, script, err = ended(sweep.milabench(*words))
    assert code == 0, err
    (tmp_path / "jobs.sh").write_text(script)
    output = f"SBATCH_OUTPUT={tmp_path}/output"
    submitted = cluster.run("env", output, "bash", tmp_path / "jobs.sh")
    assert cluster.await_end(submitted.split()[-1]) == "COMPLETED"
    assert (tmp_path / "output").read_text().count(f"{REPOSITORY}\n") == 2


def test_an_image_that_is_not_there_is_refused_before_a_job_is_submitted(cluster, make_boxed):
    sweep = make_boxed({"quick": [1]}, image="/none/torch.sqfs")
    code, _, err = ended(sweep.begin())
    assert (code, sweep.run.exists()) == (2, False)
    assert "no image /none/torch.sqfs: No such file or directory" in err
    assert not cluster.run("squeue", "-h")
