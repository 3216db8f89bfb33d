"""Bash and sbatch scripts: hostile words come through real bash as they were, and nothing runs."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from hypothesis import strategies as st

from milabench_ddp.config.runner_profile import SETTINGS, read_profile
from milabench_ddp.dispatch.runners.base import ScriptRequest
from milabench_ddp.dispatch.runners.slurm_script import flags, render_jobs
from milabench_ddp.errors import MilabenchError
from milabench_ddp.plan.bash import render
from milabench_ddp.plan.launch import Launch, Process
from milabench_ddp.results.state import JobState
from tests.fuzz.mutated import SHELL, UNSEEN, printable
from tests.support.launches import benchmark

# Keeps the words and the environment that it was started with, to the byte.
PROGRAM = """
import shutil, sys
for name in ("cmdline", "environ"):
    shutil.copyfile("/proc/self/" + name, sys.argv[1] + "." + name)
"""
# A shell keeps some variables of its own.
OWN = {"_", "SHLVL", "PWD", "OLDPWD", "PS1", "COLUMNS", "LINES"}
CLUSTER = {
    "sbatch": 'printf "%s\\0" "$@" > "$JOBS/words.$$"; cat > "$JOBS/job.$$"',
    "srun": 'while [ "${1#-}" != "$1" ]; do shift; done; exec "$@"',
    "scontrol": "echo node0",
}
words = st.one_of(
    printable,
    st.sampled_from(SHELL),
    st.sampled_from(UNSEEN).filter(lambda odd: odd != "\0"),
    st.builds("{}{}".format, st.sampled_from(SHELL), st.sampled_from(SHELL)),
    st.sampled_from(
        ["x" * 5000, "\n" * 50, "${x:-y}", "{{", "}", "EOF", "(", "é\u4e2d", "%s", "$'a'"]
    ),
)
names = st.one_of(
    st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True),
    st.sampled_from(
        ["A.B", "-x", "a b", "UID", "RANDOM", "IFS", "PS4", "CDPATH", "PATH", "ENV", "é"]
    ),
    st.sampled_from(
        ["$(touch {canary})", "A;touch {canary}", "A\nB", "BASH_FUNC_f%%", "a[0]", "x+"]
    ),
).filter(lambda name: name not in OWN and not name.startswith(("LD_", "PYTHON", "BASH_ENV")))


@dataclass(frozen=True)
class Asked:
    """What a script is made of."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    title: str = "b"
    comment: str = ""
    default: str = ""
    options: tuple[tuple[str, str], ...] = ()  # of sbatch
    setup: str = "true"


asked = st.builds(
    Asked,
    st.lists(words, max_size=3).map(tuple),
    st.dictionaries(names, words, max_size=3),
    words,
    words,
    words,
)
settings = st.sampled_from(
    ["partition", "account", "qos", "exclude", "constraint", "comment", "mail-user"]
)
submitted = st.builds(
    Asked,
    st.lists(words, max_size=3).map(tuple),
    st.dictionaries(names, words, max_size=3),
    words,
    words,
    words,
    st.lists(st.tuples(settings, words), max_size=2).map(tuple),
    st.sampled_from(["true", "export A='x y'", "true # MILABENCH_NODE", ":\nMILABENCH_NODE\n:"]),
)


def check_bash(wanted: Asked, folder: Path) -> None:
    """Each program gets its words and variables as they are; nothing else is executed."""
    mine = _aimed(wanted, folder)
    launch = _launch(mine, folder)
    script = os.fsencode(render([launch], sys.executable, [mine.comment]))
    done = subprocess.run(["bash"], input=script, capture_output=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.decode() == f"---\n{mine.title}\n====\n"
    _check_told(mine, folder)


def check_sbatch(wanted: Asked, folder: Path) -> None:
    """The same, from a job of Slurm; its options are those that were asked for, or refused."""
    mine = _aimed(wanted, folder)
    _make_cluster(folder)
    known = {name: value for name, value in mine.options if name in SETTINGS}
    others = {name: value for name, value in mine.options if name not in SETTINGS}
    text = json.dumps({"kind": "slurm", **known, "options": others, "setup": [mine.setup]})
    (folder / "profile.yaml").write_text(text)
    try:
        profile = read_profile(folder / "profile.yaml")
        request = ScriptRequest(profile, [_launch(mine, folder)], 1, sys.executable, [mine.comment])
        script = render_jobs(request)
    except MilabenchError:  # it is refused
        return
    env = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}", "JOBS": str(folder / "jobs")}
    done = _bash(os.fsencode(script), env, folder)
    assert done.returncode == 0, done.stderr[-2000:]
    (job,) = (folder / "jobs").glob("job.*")
    (given,) = (folder / "jobs").glob("words.*")
    stated = [word for word in given.read_bytes().decode().split("\0") if word]
    for line in job.read_bytes().decode().split("\n"):
        if line.startswith("#SBATCH "):
            stated += shlex.split(line.removeprefix("#SBATCH "))
    expected = shlex.split("\n".join(f"--{flag}" for flag in flags(profile, _job(mine))))
    assert sorted(stated) == sorted(expected), f"{stated} and not {expected}"
    for name, value in mine.options:
        assert f"--{name}={value}" in stated, f"{name} is another: {stated}"
    on_node = {"SLURM_JOB_ID": "1", "SLURM_STEP_NODELIST": "node0", "SLURM_PROCID": "0"}
    done = _bash(job.read_bytes(), {**env, **on_node}, folder)
    assert done.returncode == 0, done.stderr[-2000:]
    _check_told(mine, folder)


def _job(mine: Asked) -> JobState:
    return JobState("all", 1, (mine.title,))


def _bash(
    script: bytes, env: Mapping[str, str], folder: Path
) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        ["bash"], input=script, env=env, capture_output=True, check=False, cwd=folder
    )


def _make_cluster(folder: Path) -> None:
    (folder / "bin").mkdir()
    (folder / "jobs").mkdir()
    for name, text in CLUSTER.items():
        path = folder / "bin" / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)


def _aimed(wanted: Asked, folder: Path) -> Asked:
    """The same words; those that try to execute something would make the canary of this folder."""

    def aim(text: str) -> str:
        return text.replace("{canary}", str(folder / "canary"))

    return replace(
        wanted,
        argv=tuple(map(aim, wanted.argv)),
        env={aim(name).replace("=", ""): aim(value) for name, value in wanted.env.items()},
        title="b" + aim(wanted.title),  # as a name, it begins with a letter
        comment=aim(wanted.comment),
        default=aim(wanted.default),
        options=tuple((name, aim(value)) for name, value in dict(wanted.options).items()),
    )


def _launch(mine: Asked, folder: Path) -> Launch:
    processes = []
    for index in range(2):
        start = (sys.executable, "-I", "-S", "-c", PROGRAM, str(folder / f"told.{index}"))
        env = dict(mine.env)
        processes.append(Process(("b", f"D{index}"), (*start, *mine.argv), env, 0, (index,)))
    return Launch(
        benchmark(mine.title), None, tuple(processes), defaults={"MILABENCH_FUZZ": mine.default}
    )


def _check_told(mine: Asked, folder: Path) -> None:
    assert not (folder / "canary").exists(), "a word was executed"
    for index in range(2):
        argv = (folder / f"told.{index}.cmdline").read_bytes().split(b"\0")[6:-1]
        assert argv == [word.encode() for word in mine.argv]
        environ = (folder / f"told.{index}.environ").read_bytes().split(b"\0")
        found = dict(each.split(b"=", 1) for each in environ if each)
        for name, value in {"MILABENCH_FUZZ": mine.default, **mine.env}.items():
            assert found.get(name.encode()) == value.encode(), f"{name!r} is another"
