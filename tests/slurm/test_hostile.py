"""Secrets and hostile texts on a real scheduler: what it shows, and what it executes."""

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import pytest

from .live import REPOSITORY
from .sweeps import ended

pytestmark = pytest.mark.slurm

GIVEN = {"HF_TOKEN": "hf_" + "aB3" * 11, "PLAIN": "ghp_" + "0aB" * 12}  # the caller has them
PLANTED = {  # what the program must get, by its variables
    **GIVEN,
    "COPY": GIVEN["HF_TOKEN"],
    "DB_PASSWORD": "hunter2-planted",
    "MIRROR": "https://me:s3same-planted@mirror.example/simple",
    "OF_PROFILE_TOKEN": "profile-planted",
    "WANDB_API_KEY": "override-planted",
}
ARGV = ["--token", "argv-planted", "--key=key-planted", "--other", GIVEN["HF_TOKEN"], "--n", "7"]
SECRETS = [*GIVEN.values(), "-planted"]
PROGRAM = """
import hashlib, json, os, pathlib, sys, time
digest = lambda text: hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()
here = pathlib.Path(__file__).parent
seen = {"env": {k: digest(v) for k, v in os.environ.items()}}
seen["argv"] = [digest(word) for word in sys.argv[1:]]
(here / f"seen.{os.getpid()}").write_text(json.dumps(seen))
print(os.environ, sys.argv)
print(json.dumps(dict(os.environ)), *os.environ.values(), sep="\\n", file=sys.stderr, flush=True)
(here / f"seen.{os.getpid()}").rename(here / f"seen.{os.getpid()}.json")
while not (here / "open").exists():
    time.sleep(0.05)
with open(os.environ.get("MILABENCH_METRICS", os.devnull), "a") as out:
    line = {"task": "train", "rate": 100.0, "units": "items/s"}
    line["note"] = os.environ.get("HF_TOKEN", "")
    for _ in range(5):
        out.write(json.dumps(line) + "\\n")
"""
CONFIG = f"""
b:
  program: program.py
  plan: {{method: per_gpu}}
  max_duration: 300
  env:
    DB_PASSWORD: hunter2-planted
    MIRROR: https://me:s3same-planted@mirror.example/simple
    COPY: ${{oc.env:HF_TOKEN}}
  argv: {json.dumps(ARGV)}
"""
PROFILE = """
kind: slurm
partition: train
timeout: 5
nodes: 1
environment: {OF_PROFILE_TOKEN: profile-planted}
setup: ['login() { :; }; login --password hunter3-planted']
"""
OVERRIDE = ("--override", "b.env.WANDB_API_KEY=override-planted")
WORDS = ("--runner", "profile.yaml", "--device", "cpu", "--gpus", "1")
SHOWS = (
    "squeue -a -o %all", "scontrol -dd show job", "scontrol -dd show step",
    "sacct -X -o ALL -p", "sacct -o ALL -p",
)  # fmt: skip


@pytest.fixture
def place(cluster, tmp_path: Path) -> Path:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "c.yaml").write_text(CONFIG)
    (tmp_path / "profile.yaml").write_text(PROFILE)
    return tmp_path


def start(cluster, place: Path, *words: str, **environ: str) -> subprocess.Popen[str]:
    env = {**cluster.env, "MILABENCH_BASE": str(place), "PYTHONPATH": str(REPOSITORY), **environ}
    return subprocess.Popen(
        [sys.executable, "-m", "milabench_ddp", *words],
        env=env, cwd=place, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def told(text: str, where: object) -> None:
    found = [secret for secret in SECRETS if secret in text]
    assert not found, (where, [line for line in text.splitlines() if found[0] in line][:3])


def seen(place: Path) -> Iterator[dict]:
    for path in place.glob("seen.*.json"):
        yield json.loads(path.read_text())


def assert_got_all(place: Path) -> None:
    expected = {name: sha256(value.encode()).hexdigest() for name, value in PLANTED.items()}
    (each,) = seen(place)
    assert {name: each["env"].get(name) for name in expected} == expected
    assert each["argv"] == [sha256(word.encode()).hexdigest() for word in ARGV]
    assert not [name for name in each["env"] if name.startswith("MILABENCH_SECRET")]


def command_lines() -> Iterator[str]:
    """Those of all processes but the program's, and the caller's own."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            words = path.read_text(errors="replace")
            if "program.py" not in words and OVERRIDE[0] not in words:
                yield words


def shown_by_slurm(cluster, place: Path) -> None:
    for command in SHOWS:
        told(cluster.run(*command.split()), command)
    for job in cluster.run("squeue", "-h", "-o", "%A").split():
        told(cluster.run("scontrol", "write", "batch_script", job, "-"), f"script of {job}")
    for words in command_lines():
        told(words, "a command line")


def told_by_files(place: Path) -> None:
    for path in place.rglob("*"):
        if path.is_file() and path.name not in ("c.yaml", "profile.yaml"):
            told(path.read_bytes().decode(errors="replace"), path)


def test_secrets_of_a_run(cluster, place: Path) -> None:
    run = start(cluster, place, "run", "c.yaml", *OVERRIDE, *WORDS, "--name", "mine", **GIVEN)
    cluster.wait("the program", 60, lambda: bool(list(seen(place))) or run.poll() is not None)
    shown_by_slurm(cluster, place)
    told_by_files(place / "runs")
    (place / "open").touch()
    code, out, err = ended(run)
    assert code == 0, out + err
    told(out + err, "output")
    shown_by_slurm(cluster, place)
    told_by_files(place)
    assert_got_all(place)


def test_secrets_of_dry(cluster, place: Path) -> None:
    code, out, err = ended(start(cluster, place, "dry", "c.yaml", *OVERRIDE, *WORDS, **GIVEN))
    assert code == 0, err
    told(out + err, "dry")
    given = {
        **GIVEN, "DB_PASSWORD": "hunter2-planted", "MIRROR_SECRET": "s3same-planted",
        "WANDB_API_KEY": "override-planted", "TOKEN": "argv-planted", "KEY": "key-planted",
        "OF_PROFILE_TOKEN": "profile-planted", "PASSWORD": "hunter3-planted",
    }  # fmt: skip
    done = subprocess.run(
        ["bash"], input=out, env={**cluster.env, **given}, cwd=place,
        text=True, capture_output=True, check=True,
    )  # fmt: skip
    job = done.stdout.split()[-1]
    cluster.wait("the program", 60, lambda: bool(list(seen(place))))
    shown_by_slurm(cluster, place)
    (place / "open").touch()
    assert cluster.await_end(job) == "COMPLETED"
    assert_got_all(place)


TEXTS = [
    "\nMILABENCH_NODE\nMILABENCH_JOB\ntouch {canary}\n",
    "MILABENCH_NODE\nMILABENCH_NODE_\nMILABENCH_JOB\nMILABENCH_JOB_\ntouch {canary}",
    "'; touch {canary}; '",
    '"; touch {canary}; "',
    "$(touch {canary})`touch {canary}`",
    "a[$(touch {canary})]",
    "\r\n#SBATCH --wrap='touch {canary}'\ntouch {canary}\n\x1b[2J\u2028touch {canary}",
    "%j%x%N\\\n#SBATCH --output={canary}",
]


def hostile(place: Path, canary: Path, variable: str) -> list[str]:
    """Write a configuration and a profile of such texts; returns them.

    Of a ``variable`` that is named as a secret is, they are secrets, too.
    """
    texts = [text.format(canary=canary) for text in TEXTS]
    (place / "program.py").write_text(PROGRAM)
    (place / "open").touch()
    suite = {}
    for number, text in enumerate(texts):
        suite[f"b{number}"] = {
            "program": "program.py", "plan": {"method": "per_gpu"}, "max_duration": 60,
            "argv": [text], "env": {"A": text, variable: text}
        }  # fmt: skip
        suite[f"off{number}"] = {**suite[f"b{number}"], "enabled": False, "because": text}
    (place / "c.yaml").write_text(json.dumps(suite))
    profile = {
        "kind": "slurm", "partition": "train", "timeout": 5, "nodes": 1,
        "setup": [f": {shlex.quote(text)}" for text in texts],
        "environment": {f"E{number}": text for number, text in enumerate(texts)},
        "options": {"comment": texts[4], "wckey": texts[2], "mail-user": texts[3]},
    }  # fmt: skip
    (place / "profile.yaml").write_text(json.dumps(profile))
    return texts


def assert_words(place: Path, texts: list[str], variable: str) -> None:
    digests = [sha256(text.encode()).hexdigest() for text in texts]
    found = list(seen(place))
    assert sorted(each["argv"][0] for each in found) == sorted(digests)
    for each in found:
        assert each["env"]["A"] == each["env"][variable] == each["argv"][0]
        assert [each["env"][f"E{number}"] for number in range(len(texts))] == digests


@pytest.mark.parametrize(("verb", "variable"), [("run", "HF_TOKEN"), ("dry", "B")])
def test_no_text_becomes_a_command(cluster, tmp_path: Path, verb: str, variable: str) -> None:
    canary = tmp_path / "canary"
    texts = hostile(tmp_path, canary, variable)
    code, out, err = ended(start(cluster, tmp_path, verb, "c.yaml", *WORDS))
    assert code == 0, out + err
    if verb == "dry":
        done = subprocess.run(
            ["bash"], input=out, env=cluster.env, cwd=tmp_path, text=True, capture_output=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert cluster.await_end(done.stdout.split()[-1]) == "COMPLETED"
    assert_words(tmp_path, texts, variable)
    assert not list(tmp_path.rglob("canary*"))
    assert not list(REPOSITORY.glob("*canary*"))
