import os
import re
import signal
import subprocess
from functools import partial

import pytest

from tests.support.processes import alive
from tests.support.wait import PATIENCE, wait_for
from tests.support.workplace import EMIT, GOOD, Suite, Workplace, row

ON_CPU = ("--device", "cpu", "--gpus", "2", "--name", "mine")
BAD = EMIT + "rate(1.0)\nraise ValueError('the gradient went away')"


def test_a_suite_that_is_ok(at: Workplace, suite: Suite):
    done = at.milabench("run", suite(one=GOOD, two=GOOD), *ON_CPU)
    assert (done.code, at.statuses()) == (0, {"one": "ok", "two": "ok"})
    assert row(done.out, "one")[1:3] == ["0", "2"]  # fail, n
    assert "preset small" in done.err
    assert "this measures the CPU" not in done.err  # it was asked for
    files = {path.name for path in at.run().iterdir()}
    assert files >= {"one", "one.D0.data", "one.D0.stdout", "one.D1.stderr", "run.json"}
    assert (at.run() / "one" / "state.json").exists()


def test_a_result_is_reproduced_with_its_script(at: Workplace, suite: Suite):
    at.milabench("run", suite(one=GOOD), *ON_CPU)
    script = at.run() / "one" / "command.sh"
    env = {k: v for k, v in os.environ.items() if not k.startswith("MILABENCH")}
    again = subprocess.run(["bash", script], env=env, capture_output=True, text=True, check=True)
    assert again.stdout.count('"task": "train"') == 40


def test_the_starts_and_the_machine_are_on_record(at: Workplace, suite: Suite):
    at.milabench("run", suite(one=GOOD), "--device", "cpu", "--gpus", "8", "--name", "mine")
    state = at.state()
    one = state.benchmarks["one"]
    (launch,) = one.launches
    assert len({process.pid for process in launch.processes}) == 8
    for process in launch.processes:  # all begin at once: two may have the same moment
        assert one.started <= process.started < process.ended <= one.ended
    assert state.header.preset == "small"
    assert state.header.machine["packages"]["torch"]
    assert state.header.schema == 2
    assert state.header.outcome == "ok"


def test_a_failure_ends_neither_the_suite_nor_in_silence(at: Workplace, suite: Suite):
    done = at.milabench("run", suite(bad=BAD, good=GOOD), *ON_CPU)
    assert (done.code, at.statuses()) == (1, {"bad": "failed", "good": "ok"})
    assert "ValueError: the gradient went away" in done.out
    assert str(at.run() / "bad.D0.stderr") in done.out


def test_a_program_that_measures_nothing_is_a_failure(at: Workplace, suite: Suite):
    done = at.milabench("run", suite(idle="print('hello')"), *ON_CPU)
    assert done.code == 1
    assert "it reported no rate" in done.out


@pytest.mark.parametrize(
    ("number", "reason"),
    [(signal.SIGINT, "stopped on request"), (signal.SIGUSR1, "stopped by SIGUSR1")],
)
def test_stopping_keeps_what_there_is(
    at: Workplace, suite: Suite, number: signal.Signals, reason: str
):
    mark = f"sleeper-{os.getpid()}-{number}"
    config = suite(first=GOOD, **{"second": GOOD + f"\ntime.sleep(600)  # {mark}"}, third=GOOD)
    with at.start("run", config, *ON_CPU, start_new_session=True) as process:
        wait_for(lambda: (at.run() / "second.D1.data").exists())
        wait_for(lambda: (at.run() / "second.D1.data").read_text().count('"rate"') == 20)
        os.kill(process.pid, number)
        out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert at.statuses() == {"first": "ok", "second": "cancelled", "third": "cancelled"}
    assert "CANCELLED: 1 of 3 benchmarks ok\n" in out
    assert "error" not in out
    assert row(out, "first")[1:3] == ["0", "2"]
    assert not alive(str(at.folder / "second.py"))
    state = at.state()
    assert state.header.outcome == "cancelled"
    assert state.benchmarks["second"].reason == reason
    assert state.benchmarks["third"].reason == "stopped before it began"


def test_a_run_that_was_killed_is_lost_and_its_programs_with_it(at: Workplace, suite: Suite):
    config = suite(first=GOOD, second=GOOD + "\ntime.sleep(600)")
    with at.start("run", config, *ON_CPU) as process:
        data = at.run() / "second.D1.data"
        wait_for(lambda: data.exists() and data.read_text().count('"rate"') == 20)
        going = at.milabench("report", str(at.run()))
        process.kill()
    wait_for(lambda: not alive(str(at.folder / "second.py")))
    assert "running: second" in going.out.lower()
    lost = at.milabench("report", str(at.run()))
    assert (going.code, lost.code) == (1, 1)
    assert row(lost.out, "first")[1:3] == ["0", "2"]
    assert "second: lost: the run was cut off" in lost.out


def test_repeats_are_runs_of_their_own(at: Workplace, suite: Suite):
    done = at.milabench("run", suite(one=GOOD), *ON_CPU, "--repeat", "2")
    assert done.code == 0
    assert {p.name for p in at.run().glob("*.data")} == {
        f"one.R{k}.D{i}.data" for k in range(2) for i in range(2)
    }


def test_a_result_that_cannot_be_written_fails_its_benchmark_alone(at: Workplace, suite: Suite):
    blocked = at.run() / "one.R1.D0.data"
    blocks = GOOD + f"\nos.makedirs({str(blocked)!r}, exist_ok=True)"
    done = at.milabench("run", suite(one=blocks, two=GOOD), *ON_CPU, "--repeat", "2")
    assert (done.code, at.statuses()) == (1, {"one": "failed", "two": "ok"})
    why = "there is something in its place, and it is not written to"
    assert at.state().benchmarks["one"].reason == f"cannot write {blocked}: {why}"


@pytest.mark.slow
def test_a_state_that_cannot_be_written_fails_its_benchmark_alone(at: Workplace, suite: Suite):
    blocked = at.run() / "two"
    blocks = GOOD + f"\nopen({str(blocked)!r}, 'w').close()"
    done = at.milabench("run", suite(one=blocks, two=GOOD, three=GOOD), *ON_CPU)
    assert (done.code, at.statuses()) == (1, {"one": "ok", "two": "not begun", "three": "ok"})
    said = rf"two: failed in \d+\.\d s, {re.escape(f'cannot make {blocked}: File exists')}\n"
    assert re.search(said, done.err)
    assert "Traceback" not in done.err


@pytest.mark.slow
def test_a_run_whose_folder_is_moved_away_does_not_begin_anew(at: Workplace, suite: Suite):
    moved = at.folder / "moved"
    move = (
        GOOD
        + f"\nif not os.path.exists({str(moved)!r}): os.rename({str(at.run())!r}, {str(moved)!r})"
    )
    config = suite(first=move, second=GOOD)
    done = at.milabench("run", config, "--device", "cpu", "--gpus", "1", "--name", "mine")
    assert (done.code, done.out) == (2, "")
    assert "cannot write" in done.err
    assert (moved / "first.D0.data").exists()
    assert not at.run().exists()


def test_a_path_that_is_not_utf_8(at: Workplace, suite: Suite):
    base = os.fsdecode(bytes(at.folder) + b"/\xff")
    words = ("run", suite(one=GOOD), *ON_CPU, "--base", base)
    with at.start(*words, errors="backslashreplace") as process:
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    assert row(out, "one")[1:3] == ["0", "2"]


def test_the_script_for_a_path_that_is_not_utf_8(at: Workplace, suite: Suite, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "utf-8:strict")  # as in a locale of UTF-8
    base = os.fsdecode(bytes(at.folder) + b"/\xff")
    words = ("dry", suite(one=GOOD), "--device", "cpu", "--gpus", "2", "--base", base)
    with at.start(*words) as process:
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    assert f"$'{at.folder}/\\xff/runs/dry/one/cache/inductor'" in out  # as bash reads it


def test_a_name_that_is_taken_is_refused(at: Workplace, suite: Suite):
    config = suite(one=GOOD)
    at.milabench("run", config, *ON_CPU)
    before = (at.run() / "one.D0.data").read_bytes()
    done = at.milabench("run", config, *ON_CPU)
    assert done.code == 2
    assert done.err.rstrip().endswith("for example --name mine-2")
    assert (at.run() / "one.D0.data").read_bytes() == before


def test_quiet_is_only_the_report(at: Workplace, suite: Suite):
    done = at.milabench("run", suite(one=GOOD), *ON_CPU, "--quiet")
    assert "measuring" not in done.err
    assert "one" in done.out


@pytest.mark.parametrize("closed", [0, 1, 2])
def test_a_standard_stream_that_is_closed(at: Workplace, suite: Suite, closed: int):
    config = suite(one=GOOD + "\nprint('progress', file=sys.stderr)")
    shut = partial(os.close, closed)
    with at.start("run", config, *ON_CPU, preexec_fn=shut) as process:
        out, err = process.communicate()
    assert (process.returncode, at.statuses()) == (0, {"one": "ok"})
    assert ("one" in out, "one" in err) == (closed != 1, closed != 2)
    assert (at.run() / "one.D0.stderr").read_text() == "progress\n"


def test_jobs_that_do_not_divide_the_devices_are_refused_before_anything_runs(at: Workplace):
    at.write("p.py", GOOD)
    at.write("s.yaml", "x: {program: p.py, plan: {method: njobs, n: 2}}\n")
    done = at.milabench("run", "s.yaml", "--device", "cpu", "--gpus", "3")
    assert done.code == 2
    assert "3 devices of a node do not divide into plan.n = 2 jobs" in done.err
    assert not (at.folder / "base").exists()


def test_nothing_to_run_is_an_error_that_says_why(at: Workplace):
    at.write("p.py", GOOD)
    at.write("s.yaml", "x: {program: p.py, plan: {method: per_gpu}, enabled: false}\n")
    done = at.milabench("run", "s.yaml", "--device", "cpu")
    assert done.code == 2
    assert "nothing to run" in done.err
    assert "x: disabled" in done.err


def test_a_base_that_cannot_be_written(at: Workplace, suite: Suite):
    done = at.milabench("run", suite(one=GOOD), "--device", "cpu", "--base", "/proc/nowhere")
    assert done.code == 2
    assert "cannot write /proc/nowhere/runs/" in done.err


@pytest.mark.slow
def test_ctrl_c_in_the_middle_of_a_torchrun(at: Workplace, suite: Suite):
    config = suite(plan="njobs", ddp=GOOD + "\ntime.sleep(600)")
    with at.start("run", config, *ON_CPU, start_new_session=True) as process:
        data = at.run() / "ddp.0.data"
        wait_for(lambda: data.exists() and data.read_text().count('"rate"') == 40)
        os.killpg(process.pid, signal.SIGINT)
        out, _ = process.communicate(timeout=PATIENCE)
    assert (process.returncode, at.statuses()) == (130, {"ddp": "cancelled"})
    assert row(out, "ddp")[1:3] == ["1", "1"]
    assert not alive(str(at.folder / "ddp.py"))


@pytest.mark.slow
def test_the_rank_that_raises_has_a_name(at: Workplace, suite: Suite):
    raises = EMIT + (
        "rate(1.0)\n"
        "if os.environ['RANK'] == '1': raise ValueError('the gradient went away')\n"
        "time.sleep(600)"
    )
    config = suite(plan="njobs", bad=raises)
    at.write("good.py", GOOD)
    with (at.folder / config).open("a") as more:
        more.write("good: {program: good.py, plan: {method: per_gpu}}\n")
    done = at.milabench("run", config, *ON_CPU)
    assert (done.code, at.statuses()) == (1, {"bad": "failed", "good": "ok"})
    assert "ValueError: the gradient went away" in done.out
    assert re.search(r"rank 1\b", done.out)
