from pathlib import Path

import pytest

from milabench_ddp.config.schema import SkippedBenchmark
from milabench_ddp.events import NO_RATE
from milabench_ddp.render.text import text_of
from milabench_ddp.report import failure_faces as faces
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.faces import report_text
from milabench_ddp.report.model import NAN, Failure, Report, Row
from tests.support.result_files import (
    TORCHRUN,
    config,
    end,
    going_on,
    line,
    rates,
    start,
    write,
    write_state,
)


def failures(*folders: Path, weights: dict[str, float] | None = None) -> tuple[Failure, ...]:
    return report_of(folders, weights=weights).failures


def rows(report: Report) -> dict[str, tuple[float, float]]:
    return {row.name: (row.fail, row.n) for row in report.rows}


def error(rank: int, trace: str = "") -> str:
    data = {"type": "ValueError", "message": f"rank {rank} is bad", "rank": rank, "trace": trace}
    return line("error", data, "data")


def test_the_error_of_the_rank_that_failed_first(tmp_path: Path) -> None:
    """Rank 0 reported first over the channel, but only that rank 1 was gone."""
    trace = 'Traceback (most recent call last):\n  File "main.py"\nValueError: rank 1 is bad\n'
    settings = config("b", plan={"method": "njobs", "n": 1}, devices=[0, 1])
    failed = end(1, outcome="failed", reason="rank 1: ValueError: rank 1 is bad")
    stderr = "\n".join(TORCHRUN)
    write(tmp_path, "b.0", settings, start(), error(0), error(1, trace), failed, stderr=stderr)
    (found,) = failures(tmp_path)
    assert (found.benchmark, found.tag, found.rank) == ("b", "b.0", 1)
    assert (found.outcome, found.reason) == ("failed", "rank 1: ValueError: rank 1 is bad")
    assert found.lines == tuple(trace.rstrip().split("\n"))
    assert found.whole == tmp_path / "b.0.stderr"


@pytest.mark.parametrize("rank", [True, "1", 1.0, None])
def test_a_rank_that_is_no_number_is_not_told(tmp_path: Path, rank: object) -> None:
    told = line("error", {"type": "ValueError", "message": "bad", "rank": rank}, "data")
    write(tmp_path, "b.0", config("b"), start(), told, end(1, outcome="failed", reason="bad"))
    (found,) = report_of([tmp_path]).failures
    assert found.rank is None


def test_of_a_rank_that_hangs_its_stack(tmp_path: Path) -> None:
    reason = "rank 1 hangs in `sleep(9)` (main.py:4 in f); rank 0 waits in barrier (rank 0: Error)"
    failed = end(1, outcome="failed", reason=reason)
    write(tmp_path, "b.0", config("b"), start(), error(0), failed, stderr="something\n")
    stack = ["rank 1 hangs in `sleep(9)` (main.py:4 in f) (pid 7)", "  state S", '  File "main.py"']
    (tmp_path / "b.0.stacks").write_text("\n".join([*stack, "", "rank 0 waits in barrier", ""]))
    (found,) = failures(tmp_path)
    assert (found.reason, found.rank, found.lines) == (reason, None, tuple(stack))
    text = report_text(report_of([tmp_path]), 1000)
    assert f"failed   b: {reason}\n" in text
    told = text_of(faces.failures(report_of([tmp_path]))).split()
    assert f"all of it: {tmp_path}/b.0.stacks" in " ".join(told)


def test_of_many_stacks_the_first(tmp_path: Path) -> None:
    write(tmp_path, "b.0", config("b"), start(), end(1, outcome="timeout", reason="ended"))
    first = ["rank 9 hangs in f (pid 7)", '  File "main.py", line 4 in f']
    others = 3000 * ["", "rank 0 waits in barrier (pid 8)", '  File "main.py", line 9 in g']
    (tmp_path / "b.0.stacks").write_text("\n".join(first + others))
    (found,) = failures(tmp_path)
    assert found.lines == tuple(first)


def test_where_no_stack_is_told_its_output(tmp_path: Path) -> None:
    ended = end(1, outcome="timeout", reason="ended")
    write(tmp_path, "b.0", config("b"), start(), ended, stderr="waits for a lock\n")
    (tmp_path / "b.0.stacks").write_text("it does not tell its stack (pid 7)\n  state S\n")
    (found,) = failures(tmp_path)
    assert (found.lines, found.whole) == (("waits for a lock",), tmp_path / "b.0.stderr")


def test_without_an_error_event_its_lines_on_stderr(tmp_path: Path) -> None:
    write(tmp_path, "b.0", config("b"), start(), end(1), stderr="\n".join(TORCHRUN))
    (found,) = failures(tmp_path)
    assert found.rank == 1
    assert found.reason == "exit status 1: ValueError: rank one is bad"
    assert found.lines == tuple(TORCHRUN[4:8])


def test_the_last_twenty_lines(tmp_path: Path) -> None:
    stderr = "".join(f"line {k}\n" for k in range(100))
    write(tmp_path, "b.0", config("b"), start(), end(-9), stderr=stderr)
    (found,) = failures(tmp_path)
    assert found.lines == tuple(f"line {k}" for k in range(80, 100))
    assert (found.rank, found.reason) == (None, "killed by SIGKILL")


def test_of_a_very_long_line_the_beginning(tmp_path: Path) -> None:
    for name, length in (("b.D0", 1000), ("b.D1", 200_000)):
        failed = end(1, outcome="failed", reason=f"exit status {length}")
        write(tmp_path, name, config("b"), start(), failed, stderr="x" * length)
    whole, cut = failures(tmp_path)
    assert whole.lines == ("x" * 1000,)
    assert cut.lines == ("x" * 1000 + "... (131072 characters)",)
    assert cut.whole == tmp_path / "b.D1.stderr"  # it was all taken for a line without an end


def test_why_a_file_of_milabench_failed(tmp_path: Path) -> None:
    reasons = {
        "a": (end(3), "exit status 3"),
        "b": (end(-11), "killed by SIGSEGV"),
        "c": (end(-99), "killed by signal 99"),
        "d": (end(0), NO_RATE),
        "e": (line("data", {"loss": float("nan")}) + end(0), "the loss became NaN"),
        "f": (end("ERROR"), "exit status ERROR"),
        "g": ("", "its file has no end: it was cut off"),
    }
    for name, (parts, _) in reasons.items():
        write(tmp_path, name, config(name), start(), parts)
    found = {failure.benchmark: failure.reason for failure in failures(tmp_path)}
    assert found == {name: why for name, (_, why) in reasons.items()}


def test_a_benchmark_that_never_ran_is_a_failure(tmp_path: Path) -> None:
    skipped = [SkippedBenchmark("s", "it needs 2 GPUs")]
    states = {"a": "ok", "b": "waiting", "c": "failed"}
    write_state(tmp_path, "failed", states, skipped=skipped)
    write(tmp_path, "a.D0", config("a"), start(), rates([1.0, 2.0]), end(0, outcome="ok"))
    made = report_of([tmp_path])
    assert rows(made) == {"a": (0, 1), "b": (1, 0), "c": (1, 0)}
    assert [(f.benchmark, f.tag, f.outcome, f.reason) for f in made.failures] == [
        ("b", None, "not begun", "the run ended before it began"),
        ("c", None, "failed", "it never ran"),
    ]
    assert made.failure_rate == pytest.approx(2 / 3)
    assert made.runs[0].skipped == tuple(skipped)


def test_one_of_the_configuration_that_never_ran(tmp_path: Path) -> None:
    write(tmp_path, "a.D0", config("a"), start(), rates([3.0]), end())
    made = report_of([tmp_path], weights={"a": 1.0, "z": 1.0})
    assert rows(made) == {"a": (0, 1), "z": (1, 0)}
    assert made.failures[0].reason.startswith("it never ran: the configuration has it enabled")
    assert (made.score.value, made.score.failed) == (0.0, ("z",))


def test_a_run_that_was_stopped(tmp_path: Path) -> None:
    write_state(tmp_path, "cancelled", {"a": "cancelled", "b": "waiting"})
    stopped = end(-15, outcome="cancelled", reason="stopped by SIGINT")
    write(tmp_path, "a.D0", config("a"), start(), rates([1.0]), stopped)
    found = [(f.benchmark, f.tag, f.outcome) for f in failures(tmp_path)]
    assert found == [("a", "a.D0", "cancelled"), ("b", None, "cancelled")]


def test_a_repeat_that_never_ran_fails_the_benchmark(tmp_path: Path) -> None:
    """All processes of its first launch ended ok, but the benchmark as a whole did not."""
    write_state(tmp_path, "cancelled", {"a": "cancelled"})
    write(tmp_path, "a.R0.D0", config("a"), start(), rates([4.0]), end(0, outcome="ok"))
    made = report_of([tmp_path])
    assert rows(made) == {"a": (1, 1)}
    assert [(f.tag, f.outcome) for f in made.failures] == [(None, "cancelled")]


def test_a_run_that_is_still_going_on(tmp_path: Path) -> None:
    write_state(tmp_path, None, {"a": "ok", "b": "running", "c": "waiting"})
    write(tmp_path, "a.D0", config("a"), start(), rates([1.0]), end(0, outcome="ok"))
    write(tmp_path, "b.D0", config("b"), start(), rates([5.0, 5.0]))
    with going_on(tmp_path, "b"):
        made = report_of([tmp_path])
    assert rows(made) == {"a": (0, 1), "b": (0, 1)}
    assert made.failures == ()
    assert (made.runs[0].running, made.runs[0].waiting) == (("b",), ("c",))
    assert made.rows[1].perf == 5.0


def test_a_run_that_was_cut_off(tmp_path: Path) -> None:
    write_state(tmp_path, None, {"a": "ok", "b": "running", "c": "waiting"})
    write(tmp_path, "a.D0", config("a"), start(), rates([1.0]), end(0, outcome="ok"))
    write(tmp_path, "b.D0", config("b"), start(), rates([5.0, 5.0]))
    made = report_of([tmp_path])
    assert made.runs[0].outcome == "lost"
    assert rows(made) == {"a": (0, 1), "b": (1, 1), "c": (1, 0)}
    assert [f.outcome for f in made.failures] == ["lost", "not begun"]


def test_milabenchs_formulas_have_their_own_failures(tmp_path: Path) -> None:
    write_state(tmp_path, "failed", {"a": "timeout", "b": "waiting"})
    timeout = end(-15, outcome="timeout", reason="it took longer than 3 s")
    write(tmp_path, "a.D0", config("a"), start(), rates([1.0]), timeout)
    made = report_of([tmp_path], compat_formulas=True)
    assert rows(made) == {"a": (1, 1)}
    assert [(f.outcome, f.reason) for f in made.failures] == [
        ("timeout", "it took longer than 3 s")
    ]


@pytest.mark.parametrize("bar", ["", " 9%|#  | 1/9 [00:01<00:08, 1it/s]"])
def test_where_stderr_tells_nothing_stdout_may(tmp_path: Path, bar: str) -> None:
    write(tmp_path, "b.0", config("b"), start(), end(1))
    (tmp_path / "b.0.stdout").write_text("out of patience\n")
    (tmp_path / "b.0.stderr").write_text(bar)
    (found,) = failures(tmp_path)
    assert (found.lines, found.whole) == (("out of patience",), tmp_path / "b.0.stdout")


def test_launches_that_ended_ok(tmp_path: Path) -> None:
    """A launch is ok if all its processes are."""
    for repeat, device, code in ((0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 3)):
        tag = ["b", f"R{repeat}", f"D{device}"]
        ended = end(code, outcome="failed" if code else "ok", reason="x" if code else "")
        settings = config("b", device=device, tag=tag)
        write(tmp_path, ".".join(tag), settings, start(), rates([1.0]), ended)
    (row,) = report_of([tmp_path]).rows
    assert row.successful_launches() == (1, 2)
    unmeasured = Row("b", 1, 1, 1, NAN, NAN, NAN, NAN, NAN, 0.0)
    assert unmeasured.successful_launches() == (0, 0)


@pytest.mark.parametrize("failing", ["first", "last"])
def test_runs_of_the_same_name_are_told_apart(tmp_path: Path, failing: str) -> None:
    """In one a process failed, in the other the whole benchmark: both are told, with their run."""
    folders = {name: tmp_path / name / "mine" for name in ("first", "last")}
    for name, folder in folders.items():
        code = 1 if name == failing else 0
        write(folder, "b.D0", config("b", device=0), start(), rates([1.0] * 9), end(code))
        write_state(folder, "failed", {"b": "failed"}, {"b": f"reason of {name}"})
    made = report_of(folders.values(), pool=True)
    other = "last" if failing == "first" else "first"
    told = {(failure.folder, failure.reason) for failure in made.failures}
    assert told == {
        (folders[failing], "exit status 1"),
        (folders[other], f"reason of {other}"),
    }
    text = text_of(faces.failures(made), 1000)
    assert all(f"[{folder}]" in text for folder in folders.values())


def test_the_script_that_repeats_it_is_named_where_there_is_one(tmp_path: Path) -> None:
    write_state(tmp_path, "failed", {"a": "failed", "b": "failed", "c": "waiting"})
    write(tmp_path, "a.D0", config("a"), start(), end(1))
    for name in "ac":
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / "command.sh").touch()
    scripts = {found.benchmark: found.script for found in report_of([tmp_path]).failures}
    expected = {name: tmp_path / name / "command.sh" for name in "ac"}
    assert scripts == {**expected, "b": None}


@pytest.mark.parametrize("name", ["x" * 300, "..", "../other"])
def test_no_script_is_looked_for_outside_of_the_run(tmp_path: Path, name: str) -> None:
    (tmp_path / "command.sh").write_text("rm -rf /")
    broken = config(name), start(), end(1, outcome="failed", reason="it broke")
    write(tmp_path / "run", "a", *broken)
    (found,) = failures(tmp_path / "run")
    assert (found.benchmark, found.script) == (name, None)
