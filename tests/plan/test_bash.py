import json
import os
import re
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from milabench_ddp.events import Event, Output
from milabench_ddp.launch.channel import METRICS
from milabench_ddp.launch.stop_requests import StopRequests
from milabench_ddp.launch.supervisor import Supervisor
from milabench_ddp.plan.bash import comment, here_document, render
from milabench_ddp.plan.launch import Launch, Process
from milabench_ddp.plan.planner import plan_launches
from tests.golden import check_golden
from tests.support.launches import SITE, benchmark, cluster, launch, njobs
from tests.support.scripts import ADDED, bash, echoes, told
from tests.support.wait import PATIENCE, wait_for

RUN = Path("/base/runs/a run")
# All that a process has without asking: where it runs, what it ignores, what it may use.
PROBE = """
import json, os
told = ("SigBlk", "SigIgn", "SigCgt", "Umask")
status = [line for line in open("/proc/self/status") if line.startswith(told)]
given = sorted(open("/proc/self/environ").read().split(chr(0)))
files = [fd for fd in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + fd)]
limits = open("/proc/self/limits").read()
stdin, leads = os.readlink("/proc/self/fd/0"), os.getsid(0) == os.getpid()
found = [given, status, sorted(files), limits, stdin, leads, os.getcwd(), os.nice(0)]
os.write(1, json.dumps(found).encode() + chr(10).encode())
"""

words = st.text(st.characters(blacklist_characters="\0", blacklist_categories=("Cs",)), max_size=12)
names = st.one_of(
    st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True),
    st.from_regex(r"[A-Za-z.-][A-Za-z0-9.%-]{0,8}", fullmatch=True),
    st.sampled_from(["UID", "RANDOM", "SECONDS", "PPID", "PS4", "CDPATH", "_", "SHLVL", "PWD"]),
).filter(lambda name: not name.startswith(("LD_", "PYTHON", "BASH_ENV")))


@pytest.mark.slow
@settings(max_examples=25)
@given(argv=st.lists(words, max_size=3), env=st.dictionaries(names, words, max_size=4))
@example(argv=["a b", "$HOME", "`id`", "it's", "", "\n", "--x=$(id)"], env={"A": "$HOME 'x' \n"})
@example(argv=["\n", "\x1b[2J", "\u202e", "\udcff", "a\n\\'b", "(hidden: HOME)"], env={"A": "\r"})
@example(argv=["-n"], env={"PATH": "/nowhere", "UID": "5"})
@example(argv=["-n"], env={"UID": "5", "A.B": "-u", "-x": "1", "IFS": ":", "SHLVL": "9"})
def test_dry_gives_each_program_what_run_gives_it(argv: list[str], env: dict[str, str]):
    launch = echoes(argv, env)
    environ = {name: os.environ[name] for name in os.environ if name != "_"}
    # readline, which pytest imports, adds to what is inherited, but not to `os.environ`
    printed = bash(render([launch], sys.executable), env=environ)
    dry = [line for line in printed.stdout.splitlines() if line.startswith("[[")]
    run = supervised(launch, environ)
    assert len(run) == 2
    assert sorted(map(told, dry), key=str) == sorted(map(told, run), key=str)


def supervised(launch: Launch, environ: dict[str, str]) -> list[str]:
    """The lines that a launch prints where `run` starts it."""
    events: list[Event] = []
    with closing(StopRequests()) as requests:
        Supervisor(launch, environ, requests, events.append).run()
    return [
        event.text for event in events if isinstance(event, Output) and event.stream == "stdout"
    ]


# What bash sets for itself, changes or hides, as it was given.
GIVEN = {
    "SHLVL": "7", "PWD": "/nowhere", "OLDPWD": "/gone", "COLUMNS": "33", "LINES": "7", "UID": "5",
    "PPID": "3", "RANDOM": "7", "IFS": ":", "PS1": "a b", "PS4": "$(id)", "OPTIND": "3",
    "BASHPID": "4", "a.b": "c", "host": "h", "port": "1", "pids": "2", "name": "n", "fd": "0",
}  # fmt: skip


@pytest.mark.parametrize("given", [GIVEN, {}])
def test_a_process_of_dry_has_all_that_one_of_run_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, str]
):
    monkeypatch.chdir(tmp_path)
    program = (sys.executable, "-S", "-c", PROBE)
    launch = Launch(benchmark(), None, (Process(("b", "D0"), program, {"A": "1"}, 0, (0,)),))
    environ = {"PATH": os.environ["PATH"], **given}
    with Path(os.devnull).open() as file:  # of the caller: it is not for programs
        os.set_inheritable(file.fileno(), True)
        script = render([launch], sys.executable)
        options = {"env": {**environ, "_": "bash"}, "pass_fds": [file.fileno()]}
        printed = bash(script, cwd=tmp_path, **options)
        (run,) = supervised(launch, environ)
    (dry,) = [line for line in printed.stdout.splitlines() if line.startswith("[[")]
    (variables, *others), (same, *equal) = json.loads(run), json.loads(dry)
    own = tuple(f"{name}=" for name in ADDED)
    assert [pair for pair in variables if not pair.startswith(own)] == [
        pair for pair in same if not pair.startswith(own)
    ]
    assert [pair for pair in same if pair.startswith(own)] == [f"{METRICS}={tmp_path}/b.D0.metrics"]
    assert others == equal


def test_a_program_of_dry_ignores_the_signals_that_one_of_run_ignores():
    """Of a caller that ignores some, as nohup and Python do; a program in Python would, too."""
    process = Process(("b", "D0"), ("grep", "SigIgn", "/proc/self/status"), {}, 0, (0,))
    launch = Launch(benchmark(), None, (process,))
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        printed = bash(render([launch], sys.executable), restore_signals=False)
        (run,) = supervised(launch, dict(os.environ))
    finally:
        signal.signal(signal.SIGHUP, before)
    assert run in printed.stdout
    assert int(run.split()[1], 16) & 1 << signal.SIGHUP - 1


def test_a_program_whose_path_is_like_a_variable(tmp_path: Path):
    program = tmp_path / "a=b" / "echo"
    program.parent.mkdir()
    program.symlink_to("/bin/echo")
    launch = Launch(benchmark(), None, (Process(("b",), (str(program), "ran"), {}, 0, (0,)),))
    assert bash(render([launch], sys.executable)).stdout.endswith("ran\n")


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


@given(st.text(st.characters(exclude_characters="\0")))
@example("\ud83d")
def test_a_comment_is_one_line(text: str):
    assert comment(text).startswith("# ")
    assert len(comment(text).splitlines()) == 1


@settings(max_examples=20)
@given(st.lists(st.sampled_from(["END", "END_", "a", ""]), min_size=1, max_size=4))
def test_a_here_document_ends_where_it_should(lines: list[str]):
    start, *rest = here_document(lines, "END")
    done = bash("\n".join([f"cat {start}", *rest, "echo after"]))
    assert done.stdout == "\n".join(lines) + "\nafter\n"


def test_a_port_that_is_none_is_not_computed(tmp_path: Path):
    canary = tmp_path / "canary"
    env = {**os.environ, "MASTER_ADDR": "head", "MASTER_PORT": f"a[$(touch {canary})]"}
    result = bash(render([nodes_launch(2)], sys.executable), env=env)
    assert (result.returncode, result.stderr) == (2, "MASTER_PORT is not a number\n")
    assert not canary.exists()
