"""Scripted histories of a launch over nodes, and the verdicts on them."""

import pytest
from msgspec.structs import replace

from milabench_ddp.config.schema import PlanSpec
from milabench_ddp.dispatch.launch_tracker import LaunchTracker
from milabench_ddp.dispatch.nodes import NodeLost
from milabench_ddp.dispatch.protocol import Timeouts
from milabench_ddp.events import NO_RATE, Outcome, Verdict
from milabench_ddp.launch.stacks import ENDED
from milabench_ddp.results.state import RankCall
from tests.support.dispatch import Clock, end, launch
from tests.support.launches import of_each_node

TIMEOUTS = Timeouts(others=10.0, report=30.0)


def tracker(
    clock: Clock, nodes: int = 2, *, jobs: int = 1, devices: int = 1, **changes: object
) -> LaunchTracker:
    it = launch(nodes, jobs=jobs, devices=devices, max_duration=60.0, **changes)
    return LaunchTracker(it, [f"n{rank}" for rank in range(nodes)], clock.now, 5.0, TIMEOUTS)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def tags(it: LaunchTracker, rank: int) -> list[str]:
    return [process.name for process in it.launch.processes if process.node == rank]


def test_ok_where_all_parts_are(clock: Clock) -> None:
    it = tracker(clock)
    first = end(tags=tags(it, 0))
    it.ended("n1", end(tags=tags(it, 1), rates=[0]), clock.now)
    assert not it.is_done
    it.ended("n0", first, clock.now)
    state = it.state()
    assert it.is_done
    assert (state.outcome, state.reason, state.nodes) == (Outcome.OK, "", ("n0", "n1"))
    assert [p.tag for p in state.processes] == tags(it, 0) + tags(it, 1)
    assert {p.outcome for p in state.processes} == {Outcome.OK}
    assert it.stop_due(clock.now) is None


def test_the_first_failure_is_the_reason_and_the_others_are_stopped_after_a_while(
    clock: Clock,
) -> None:
    it = tracker(clock, 3)
    clock.sleep(1)
    it.ended("n1", end("failed", "ValueError: no", tags=tags(it, 1)), clock.now)
    clock.sleep(9.9)
    assert it.stop_due(clock.now) is None
    it.ended("n0", end("failed", "a connection broke", tags=tags(it, 0)), clock.now)
    clock.sleep(0.1)
    assert it.stop_due(clock.now) == Verdict(Outcome.FAILED, "n1: ValueError: no")
    assert it.stop_due(clock.now) is None  # said once
    it.ended("n2", end("cancelled", "n1: ValueError: no", tags=tags(it, 2)), clock.now)
    assert (it.state().outcome, it.state().reason) == (Outcome.FAILED, "n1: ValueError: no")


PEER = "rank 0: RuntimeError: Connection closed by peer"


@pytest.mark.parametrize("cause", ["n0", "n1", "n2"])
@pytest.mark.parametrize("reason", ["rank 5: killed by SIGKILL", "rank 5: ValueError: no"])
def test_a_node_that_only_missed_its_peer_may_end_first(
    clock: Clock, cause: str, reason: str
) -> None:
    it = tracker(clock, 3)
    for node in ("n0", "n1", "n2"):
        if node != cause:
            it.ended(node, end("failed", PEER), clock.now)
    it.ended(cause, end("failed", reason), clock.now)
    assert it.state().reason == f"{cause}: {reason}"


@pytest.mark.parametrize("late", ["n0", "n1"])
def test_a_failure_at_the_deadline_of_another_node_is_a_timeout(clock: Clock, late: str) -> None:
    """Its peers were ended at their deadline, a moment before its own."""
    it = tracker(clock)
    failed = end("failed", "exit status 1", tags=["b.0"])
    states = [
        replace(p, started=100.0, ended=159.5, outcome=Outcome.FAILED) for p in failed.processes
    ]
    it.ended(late, replace(failed, processes=tuple(states)), clock.now)
    other = "n1" if late == "n0" else "n0"
    it.ended(other, end("timeout", "ended at its max_duration of 60 s"), clock.now)
    assert it.state().outcome is Outcome.TIMEOUT


def test_a_failure_long_before_the_deadline_is_none(clock: Clock) -> None:
    it = tracker(clock)
    failed = end("failed", "exit status 1", tags=["b.0"])
    states = [replace(p, started=100.0, ended=150.0) for p in failed.processes]
    it.ended("n0", replace(failed, processes=tuple(states)), clock.now)
    it.ended("n1", end("timeout", "ended at its max_duration of 60 s"), clock.now)
    assert (it.state().outcome, it.state().reason) == (Outcome.FAILED, "n0: exit status 1")


def test_on_one_node_it_needs_no_name(clock: Clock) -> None:
    it = tracker(clock, 1)
    it.ended("n0", end("timeout", "longer than 60 s"), clock.now)
    assert (it.state().outcome, it.state().reason) == (Outcome.TIMEOUT, "longer than 60 s")


@pytest.mark.parametrize("hangs", [0, 3])
@pytest.mark.parametrize("last", ["n0", "n1"])
def test_the_rank_that_hangs_is_named_from_what_all_nodes_saw(
    clock: Clock, hangs: int, last: str
) -> None:
    """Each node sees its own ranks alone, and may end first."""
    it = tracker(clock, 2, devices=2)
    ends = {}
    for node, ranks in (("n0", (0, 1)), ("n1", (2, 3))):
        late = end("timeout", "ended at its max_duration of 60 s", tags=tags(it, int(node[1])))
        calls = [RankCall(k, "S", f"f.py:{k} in f", "" if k == hangs else "barrier") for k in ranks]
        processes = [replace(process, calls=tuple(calls)) for process in late.processes]
        ends[node] = replace(late, processes=tuple(processes))
    first = "n0" if last == "n1" else "n1"
    for node in (first, last):
        it.ended(node, ends[node], clock.now)
    others = "1-3" if hangs == 0 else "0-2"
    state = it.state()
    assert state.outcome is Outcome.TIMEOUT
    assert state.reason == (
        f"{first}: ended at its max_duration of 60 s: "
        f"rank {hangs} hangs in f.py:{hangs} in f; ranks {others} wait in barrier"
    )


AFTER = "RendezvousConnectionError: The connection to the C10d store has failed"


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        ("rank 0: Timed out waiting 2000ms", "rank 1 hangs in f.py:1 in f; rank 0 waits in"),
        ("rank 0: Connection closed by peer", "rank 0 waits in"),
        ("rank 0: ValueError: planted", "n0: rank 0: ValueError"),
    ],
)
def test_where_a_rank_was_ended_by_another_node_counts_after_a_time_out(
    clock: Clock, failure: str, said: str
) -> None:
    it = tracker(clock, 2)
    places = RankCall(0, "S", "f.py:9 in f", "barrier"), RankCall(1, ENDED, "f.py:1 in f", "")
    for node, reason, call in zip(("n0", "n1"), (failure, AFTER), places, strict=True):
        failed = end("failed", reason, tags=tags(it, int(node[1])))
        processes = [replace(process, calls=(call,)) for process in failed.processes]
        it.ended(node, replace(failed, processes=tuple(processes)), clock.now)
    assert it.state().reason.startswith(said)


def test_of_devices_alone_the_first_that_hangs_is_named(clock: Clock) -> None:
    it = tracker(clock, 1, jobs=0, devices=2)
    late = end("timeout", "ended at its max_duration of 60 s", tags=tags(it, 0))
    ok, hung = late.processes
    hung = replace(hung, calls=(RankCall(None, "S", "f.py:1 in f", ""),))
    it.ended("n0", replace(late, processes=(ok, hung)), clock.now)
    said = "ended at its max_duration of 60 s: b.D1: it hangs in f.py:1 in f"
    assert it.state().reason == said


@pytest.mark.parametrize("last", ["n0", "n1"])
def test_ranks_of_a_job_that_goes_on_do_not_hang(clock: Clock, last: str) -> None:
    """Rank 0 tells the rates of all: the other node sees none."""
    it = tracker(clock, 2)
    slow = end("timeout", "ended late: it goes on: 36 observations", tags=tags(it, 0))
    slow = replace(slow, processes=tuple(replace(p, goes_on=True) for p in slow.processes))
    silent = end("timeout", "ended late", tags=tags(it, 1))
    call = RankCall(1, "R", "f.py:1 in f", "")
    silent = replace(silent, processes=tuple(replace(p, calls=(call,)) for p in silent.processes))
    ends = {"n0": slow, "n1": silent}
    for node in ("n1", "n0") if last == "n0" else ("n0", "n1"):
        it.ended(node, ends[node], clock.now)
    assert it.state().reason == "ended late: it goes on: 36 observations"


def test_a_device_that_hangs_is_named_beside_one_that_goes_on(clock: Clock) -> None:
    it = tracker(clock, 1, jobs=0, devices=2)
    slow, hung = end("timeout", "ended late", tags=tags(it, 0)).processes
    hung = replace(hung, calls=(RankCall(None, "S", "f.py:1 in f", ""),))
    late = end("timeout", "ended late", tags=tags(it, 0))
    it.ended("n0", replace(late, processes=(replace(slow, goes_on=True), hung)), clock.now)
    assert it.state().reason == "ended late: b.D1: it hangs in f.py:1 in f"


def test_a_lost_node_comes_before_all(clock: Clock) -> None:
    it = tracker(clock, 3)
    it.ended("n0", end("failed", "a connection broke"), clock.now)
    it.lose("n1", NodeLost("has sent no heartbeat for 20 s"), clock.now)
    why = "n1 has sent no heartbeat for 20 s"
    assert it.stop_due(clock.now) == Verdict(
        Outcome.LOST, why
    )  # at once: the others would wait for ever
    it.lose("n1", NodeLost("is gone twice"), clock.now)
    it.ended("n1", end("ok"), clock.now)  # too late
    it.ended("n2", end("cancelled", why), clock.now)
    state = it.state()
    assert (state.outcome, state.reason) == (Outcome.LOST, why)


def test_a_node_that_is_gone_for_want_of_memory_failed_unless_another_is_lost(clock: Clock) -> None:
    full = NodeLost("is gone: out of memory", Outcome.FAILED)
    it = tracker(clock, 3)
    it.lose("n1", full, clock.now)
    assert it.stop_due(clock.now) == Verdict(Outcome.FAILED, "n1 is gone: out of memory")
    it.ended("n0", end("failed", "a connection broke"), clock.now)
    it.ended("n2", end("failed", "n1 is gone: out of memory"), clock.now)
    assert it.state().verdict == Verdict(Outcome.FAILED, "n1 is gone: out of memory")
    it = tracker(clock)
    for node, lost in (("n0", NodeLost("has sent no heartbeat")), ("n1", full)):
        it.lose(node, lost, clock.now)
    assert it.state().verdict == Verdict(Outcome.LOST, "n0 has sent no heartbeat")


def test_nothing_is_stopped_where_nothing_runs(clock: Clock) -> None:
    it = tracker(clock)
    it.ended("n0", end("failed", "no"), clock.now)
    it.lose("n1", NodeLost("is gone"), clock.now)
    assert it.is_done
    assert it.stop_due(clock.now + 100) is None


def test_processes_that_are_independent_are_left_to_end(clock: Clock) -> None:
    """No process waits for a ``per_gpu`` process that failed, as on one host."""
    it = tracker(clock, jobs=0)
    it.ended("n0", end("failed", "no", tags=tags(it, 0)), clock.now)
    assert it.stop_due(clock.now + 1000) is None
    it.ended("n1", end(tags=tags(it, 1)), clock.now)
    assert (it.state().outcome, it.state().reason) == (Outcome.FAILED, "n0: no")


@pytest.mark.parametrize("plan", [PlanSpec("per_gpu"), of_each_node()])
def test_a_lost_node_does_not_end_what_others_of_a_validation_measure_by_themselves(
    clock: Clock, plan: PlanSpec
) -> None:
    of_no_validation = tracker(clock, 3, plan=plan)
    it = tracker(clock, 3, plan=plan, tags=frozenset({"validate"}))
    for each in (it, of_no_validation):
        each.lose("n1", NodeLost("has sent no heartbeat for 20 s"), clock.now)
    assert of_no_validation.stop_due(clock.now) is not None
    assert it.stop_due(clock.now + 1000) is None
    it.ended("n0", end(tags=tags(it, 0)), clock.now)
    assert not it.is_done
    it.ended("n2", end(tags=tags(it, 2)), clock.now)
    state = it.state()
    assert (state.outcome, state.reason) == (Outcome.LOST, "n1 has sent no heartbeat for 20 s")
    assert [p.outcome for p in state.processes] == [Outcome.OK, Outcome.OK]


def test_a_node_that_does_not_say_how_it_ended(clock: Clock) -> None:
    it = tracker(clock)
    it.ended("n0", end(tags=tags(it, 0)), clock.now)
    clock.sleep(60 + 5 + 30 - 0.1)
    assert it.overdue(clock.now) == set()
    clock.sleep(0.2)
    assert it.overdue(clock.now) == {"n1"}


@pytest.mark.parametrize(
    ("rates", "outcome"),
    [
        ({0: [3, 3], 1: [0, 0]}, Outcome.OK),  # rank 0 reports for all
        ({0: [3, 0], 1: [0, 0]}, Outcome.FAILED),  # the second job on no node
        ({0: [0, 0], 1: [2, 2]}, Outcome.OK),  # any node may report
    ],
)
def test_a_job_that_spans_nodes_reports_on_one_of_them(
    clock: Clock, rates: dict[int, list[int]], outcome: Outcome
) -> None:
    it = tracker(clock, jobs=2, devices=2)
    for rank, counts in rates.items():
        it.ended(f"n{rank}", end(tags=tags(it, rank), rates=counts), clock.now)
    state = it.state()
    assert (state.outcome, state.reason) == (outcome, "" if outcome is Outcome.OK else NO_RATE)
