import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from milabench_ddp.events import Event, Line
from milabench_ddp.launch.metrics_channel import METRICS, START
from milabench_ddp.launch.reap import MARK
from milabench_ddp.launch.stacks import STACKS
from milabench_ddp.launch.stop_requests import StopRequests
from milabench_ddp.launch.supervisor import Supervisor
from milabench_ddp.plan.bash import render
from milabench_ddp.plan.launch import Launch, Process
from milabench_ddp.plan.planner import plan_launches
from tests.golden import check_golden
from tests.support.launches import SITE, benchmark, cluster, launch, njobs
from tests.support.wait import PATIENCE, wait_for

# One write, so that the lines of two processes do not mix.
RUN = Path("/base/runs/a run")
ECHO = """
import json, os, sys
line = json.dumps([sys.argv[1:], dict(os.environ)], sort_keys=True) + chr(10)
os.write(1, line.encode())
"""
# Each shell keeps a few variables of its own; the supervisor adds its channels, and its mark.
OWN = {"_", "SHLVL", "PWD", "OLDPWD", "PS1", "COLUMNS", "LINES"}
OWN |= {MARK, METRICS, STACKS, START}

words = st.text(st.characters(blacklist_characters="\0", blacklist_categories=("Cs",)), max_size=12)
names = st.one_of(
    st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True),
    st.from_regex(r"[A-Za-z.-][A-Za-z0-9.%-]{0,8}", fullmatch=True),
    st.sampled_from(["UID", "RANDOM", "SECONDS", "PPID", "PS4", "CDPATH"]),
).filter(lambda name: name not in OWN and not name.startswith(("LD_", "PYTHON", "BASH_ENV")))


@pytest.fixture(autouse=True)
def _no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test may run on a node of a cluster, which the scripts would take for theirs."""
    for name in ("NODE_RANK", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)


def bash(script: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash"],
        input=script,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        **options,
    )


def echoes(argv: list[str], env: dict[str, str]) -> Launch:
    processes = tuple(
        Process(("b", f"D{i}"), (sys.executable, "-S", "-c", ECHO, *argv, str(i)), env, 0, (i,))
        for i in range(2)
    )
    return Launch(benchmark(), None, processes)


def told(text: str) -> tuple[list[str], dict[str, str]]:
    argv, env = json.loads(text)
    return argv, {key: value for key, value in env.items() if key not in OWN}


@settings(max_examples=25)
@given(argv=st.lists(words, max_size=3), env=st.dictionaries(names, words, max_size=4))
@example(argv=["a b", "$HOME", "`id`", "it's", "", "\n", "--x=$(id)"], env={"A": "$HOME 'x' \n"})
@example(argv=["-n"], env={"UID": "5", "A.B": "-u", "-x": "1", "IFS": ":"})
def test_dry_gives_each_program_what_run_gives_it(argv: list[str], env: dict[str, str]):
    launch = echoes(argv, env)
    printed = bash(render([launch], sys.executable))
    dry = [line for line in printed.stdout.splitlines() if line.startswith("[[")]
    events: list[Event] = []
    requests = StopRequests()
    Supervisor(launch, os.environ, requests, events.append).run()
    requests.close()
    run = [event.text for event in events if isinstance(event, Line) and event.stream == "stdout"]
    assert len(run) == 2
    assert sorted(map(told, dry), key=str) == sorted(map(told, run), key=str)


def test_a_script_goes_on_after_a_failure_and_ends_with_it():
    bad = launch("import sys; sys.exit(3)", "print('other')")
    good = launch("print('good')")
    result = bash(render([bad, good], sys.executable))
    assert result.returncode == 1
    assert "other\n" in result.stdout
    assert "good\n" in result.stdout
    assert result.stderr.rstrip().endswith("failed: b")


def test_a_script_whose_programs_succeed_ends_with_0():
    result = bash(render([launch("pass", "pass")], sys.executable))
    assert (result.returncode, result.stdout) == (0, "---\nb\n====\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_the_programs_of_a_script(tmp_path: Path, number: signal.Signals):
    text = f"import os, time; open(f'{tmp_path}/{{os.getpid()}}', 'w'); time.sleep(600)"
    script = tmp_path / "script.sh"
    script.write_text(render([launch(text, text), launch(text)], sys.executable))
    # A group of its own, to which the terminal's Ctrl-C goes.
    shell = subprocess.Popen(["bash", script], start_new_session=True, stderr=subprocess.DEVNULL)

    def pids() -> list[int]:
        return [int(path.name) for path in tmp_path.iterdir() if path.name.isdecimal()]

    wait_for(lambda: len(pids()) == 2)
    os.killpg(shell.pid, number)
    assert shell.wait(timeout=PATIENCE) == 128 + number
    assert not [pid for pid in pids() if Path(f"/proc/{pid}").exists()]
    assert len(pids()) == 2


@pytest.mark.parametrize("own", [None, "", "mine"])
def test_a_default_holds_where_the_caller_sets_no_other(tmp_path: Path, own: str | None):
    value = "a b'c}$HOME\\"
    planned = launch("import os; print(os.environ['CACHE'], end='.')")
    planned = replace(planned, defaults={"CACHE": value})
    script = tmp_path / "script.sh"
    script.write_text(render([planned], sys.executable))
    environ = {"PATH": os.environ["PATH"]} | ({} if own is None else {"CACHE": own})
    done = subprocess.run(["bash", script], env=environ, capture_output=True, text=True, check=True)
    expected = value if own is None else own
    assert done.stdout.endswith(f"\n{expected}.")
    (process,) = planned.called_with(environ).processes
    assert {**environ, **process.env}["CACHE"] == expected


def suite(nodes: int) -> list[Launch]:
    flops = benchmark("flops", argv=("--dtype", "fp16", "--note", "it's"), env={"A": "x y"})
    ddp = benchmark("ddp", plan=njobs(2), voir={})
    where = cluster(gpus=2, nodes=nodes)
    return [*plan_launches(flops, where, SITE, 2, RUN), *plan_launches(ddp, where, SITE, run=RUN)]


@pytest.mark.parametrize("nodes", [1, 2])
def test_golden(nodes: int):
    script = render(suite(nodes), SITE.python, ["a comment", "in two\nlines"])
    check_golden(f"plan/bash_{nodes}_nodes.sh", script)
    syntax = subprocess.run(
        ["bash", "-n"], input=script, text=True, capture_output=True, check=True
    )
    assert syntax.stderr == ""


def nodes_launch(nodes: int) -> Launch:
    text = "import os; os.write(1, (os.environ['PET_RDZV_ENDPOINT'] + chr(10)).encode())"
    processes = tuple(
        Process(("b", str(job), f"n{k}"), (sys.executable, "-c", text), {}, k, (0,), job)
        for k in range(nodes)
        for job in range(2)
    )
    return Launch(benchmark(), None, processes, nodes)


def test_all_nodes_on_one_machine_meet_at_one_free_port():
    result = bash(render([nodes_launch(2)], sys.executable))
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()[3:]
    assert len(lines) == 4, result
    first, second = sorted(set(lines), key=lambda line: int(line.split(":")[1]))
    assert sorted(lines) == sorted([first, first, second, second])  # a port for each job
    host, port = first.split(":")
    assert host == "127.0.0.1"
    assert second == f"{host}:{int(port) + 1}"


def test_each_node_of_a_cluster_starts_its_own_part():
    env = {**os.environ, "NODE_RANK": "1", "MASTER_ADDR": "head", "MASTER_PORT": "7"}
    result = bash(render([nodes_launch(2)], sys.executable), env=env)
    assert sorted(result.stdout.splitlines()[3:]) == ["head:7", "head:8"]
    missing = {key: value for key, value in env.items() if key != "MASTER_ADDR"}
    result = bash(render([nodes_launch(2)], sys.executable), env=missing)
    assert result.returncode != 0
    assert "MASTER_ADDR" in result.stderr


def test_ranks_without_torchrun_are_told_where_they_meet():
    where = "os.environ['MASTER_ADDR'] + ':' + os.environ['MASTER_PORT']"
    text = f"import os; os.write(1, ({where} + chr(10)).encode())"  # a line in one write
    processes = tuple(
        Process(("b", "0", f"D{k}"), (sys.executable, "-c", text), {"RANK": str(k)}, 0, (k,), 0)
        for k in range(2)
    )
    result = bash(render([Launch(benchmark(), None, processes)], sys.executable))
    first, second = result.stdout.splitlines()[3:]
    assert first == second
    assert re.fullmatch(r"127\.0\.0\.1:\d+", first)
