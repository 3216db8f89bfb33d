"""What goes wrong with one benchmark, in this program, is not the trouble of the others."""

import errno
import importlib
import os
from collections.abc import Callable
from typing import Any

import pytest

from milabench_ddp.config.runner_profile import RunnerProfile
from milabench_ddp.dispatch.protocol import FindPorts, LaunchEnded, StartLaunch, StopLaunch
from milabench_ddp.events import Outcome, Verdict
from milabench_ddp.results.lock import alive, is_alive
from tests.support.dispatch import end, plan
from tests.support.launches import benchmark, njobs
from tests.support.os_errors import os_error
from tests.support.scripted_nodes import CoordinatorRun, Script

Make = Callable[..., CoordinatorRun]
ONE = benchmark("one", num_machines=1)
TWO = benchmark("two", num_machines=2)
OK = Verdict(Outcome.OK)


def named(module: str, place: str) -> Any:
    found: Any = importlib.import_module(module)
    for name in place.split("."):
        found = getattr(found, name)
    return found


@pytest.mark.parametrize(
    ("place", "error", "reason"),
    [
        ("save_script", os_error(errno.EMFILE), "Too many open files, `ulimit -n` says"),
        ("plan_launches", MemoryError(), "there is not enough memory (`ulimit -v`"),
        ("RepeatCounter.add", ValueError("a\n b"), "ValueError: a b ("),
        ("archive_attempt", RecursionError("deep"), "RecursionError: deep ("),
    ],
)
def test_whatever_goes_wrong_with_a_benchmark_is_its_own_failure(
    coordinator: Make, monkeypatch: pytest.MonkeyPatch, place: str, error: Exception, reason: str
) -> None:
    """In its first step and in its last, on all of its nodes; what comes after it runs."""
    module = "milabench_ddp.dispatch.benchmark_run"
    run = coordinator(plan(TWO, ONE))
    real, has_failed = named(module, place), False

    def fails_once(*said: Any) -> Any:
        nonlocal has_failed
        if not has_failed:
            has_failed = True
            raise error
        return real(*said)

    monkeypatch.setattr(f"{module}.{place}", fails_once)
    assert run.serve() is Outcome.FAILED
    assert (run.told.ended["one"], run.told.ended["two"].outcome) == (OK, Outcome.FAILED)
    state = run.state("two")
    assert state.verdict == run.told.ended["two"]
    assert state.reason.startswith("milabench itself failed: ")
    assert reason in state.reason
    assert not state.is_final  # `--resume` runs it again
    assert not is_alive(run.dir.benchmark("two"))


def test_what_fails_while_its_nodes_run_is_stopped_there(
    coordinator: Make,
) -> None:
    run = coordinator(plan(benchmark("jobs", plan=njobs(2), num_machines=2), ONE), devices=2)

    def script() -> Script:
        run.nodes[0].give_ports(29_001)  # one, of two
        yield
        for each in run.nodes:
            stop = each.order(StopLaunch)
            assert (stop.hard, stop.verdict.outcome) == (True, Outcome.FAILED)
        run.nodes[0].ended(run.nodes[0].order(StartLaunch))

    assert run.execute(script) is Outcome.FAILED
    assert "IndexError" in run.told.ended["jobs"].reason
    assert run.told.ended["one"] == OK


def test_no_free_ports_are_the_failure_of_their_benchmark(coordinator: Make) -> None:
    profile = RunnerProfile("slurm", rendezvous_ports=(20_000, 20_999))
    two = benchmark("jobs", plan=njobs(1), num_machines=2)
    run = coordinator(plan(two, ONE, runner=profile))

    def script() -> Script:
        asked = run.nodes[0].order(FindPorts)
        assert (asked.count, asked.among) == (1, (20_000, 20_999))
        run.nodes[0].say(LaunchEnded(asked.launch, end("failed", "no ports")))
        yield
        run.nodes[0].ended(run.nodes[0].order(StartLaunch))

    assert run.execute(script) is Outcome.FAILED
    assert run.told.ended == {"jobs": Verdict(Outcome.FAILED, "n0: no ports"), "one": OK}


def test_a_benchmark_that_another_process_runs_is_left_alone(coordinator: Make) -> None:
    """Of two coordinators that have the same job, say."""
    run = coordinator(plan(ONE, benchmark("uno", num_machines=1)))
    folder = run.dir.benchmark("one")
    folder.mkdir()
    (folder / "state.json").write_text("its own")
    (run.dir.path / "one.D0.n0.data").write_text("its own")
    with alive(folder):
        assert run.serve() is Outcome.FAILED
        assert is_alive(folder)
    assert run.told.ended["uno"] == OK
    me = f"process {os.getpid()} on {os.uname().nodename}, since "
    assert f"{folder} has not ended ({me}" in run.told.ended["one"].reason
    assert (folder / "state.json").read_text() == "its own"
    assert (run.dir.path / "one.D0.n0.data").read_text() == "its own"
