"""The sentence that names the rank that hangs, from where each rank was."""

import pytest
from msgspec.structs import replace

from milabench_ddp.events import Outcome, Verdict
from milabench_ddp.launch.hangs import is_hang, who_hangs, with_hang
from milabench_ddp.results.state import RankCall

SLEEP = "`time.sleep(9)` (main.py:41 in body)"
WHERE = "`dist.all_reduce(x)` (main.py:50 in step)"


def hung(rank: int | None, state: str = "S", call: str = SLEEP) -> RankCall:
    return RankCall(rank, state, call, "")


def waiting(rank: int, call: str = "all_reduce", state: str = "S") -> RankCall:
    return RankCall(rank, state, WHERE, call)


@pytest.mark.parametrize(("rank", "others"), [(0, "1-3"), (2, "0-1 and 3"), (3, "0-2")])
def test_the_rank_that_does_not_wait(rank: int, others: str):
    calls = [hung(k) if k == rank else waiting(k) for k in range(4)]
    expected = f"rank {rank} hangs in {SLEEP}; ranks {others} wait in all_reduce"
    assert who_hangs(calls) == who_hangs(reversed(calls)) == expected


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([], ""),
        ([hung(0, call=""), hung(1, call="")], ""),
        ([hung(None)], f"it hangs in {SLEEP}"),
        ([RankCall(0, "R", SLEEP, "", moves=True)], f"rank 0 is in {SLEEP}"),
        ([RankCall(None, "R", SLEEP, "", is_busy=True)], f"it is busy in {SLEEP}"),
        ([waiting(1)], f"rank 1 waits in all_reduce, {WHERE}"),  # of a node with others elsewhere
        ([hung(None, "T", "")], "it is stopped"),
        ([waiting(0), waiting(1)], f"ranks 0-1 wait in all_reduce, {WHERE}"),
        (
            [waiting(0), waiting(1, "gather")],
            f"rank 0 waits in all_reduce, {WHERE}; rank 1 waits in gather, {WHERE}",
        ),
        ([hung(0), hung(1), waiting(2)], f"ranks 0-1 hang in {SLEEP}; rank 2 waits in all_reduce"),
        (
            [waiting(0), waiting(1, state="T")],
            f"rank 1 is stopped in {WHERE}; rank 0 waits in all_reduce",
        ),
        ([waiting(0), hung(1, "T", "")], "rank 1 is stopped; rank 0 waits in all_reduce"),
        (
            [waiting(0), hung(1, "D", "")],
            "rank 1 does not return from the kernel; rank 0 waits in all_reduce",
        ),
        (
            [waiting(0), hung(1, "S", "")],
            "rank 1 sleeps, and does not tell where; rank 0 waits in all_reduce",
        ),
        ([waiting(0), hung(1, "", "")], "rank 1 has ended; rank 0 waits in all_reduce"),
    ],
)
def test_who_hangs(calls: list[RankCall], expected: str):
    assert who_hangs(calls) == expected


@pytest.mark.parametrize(("rank", "others"), [(0, "1-3"), (3, "0-2")])
def test_where_all_wait_the_one_that_did_not_begin_the_collective(rank: int, others: str):
    """As on GPUs, of which one hangs: every host waits for its own."""
    begun = [57, 57, 57, 57]
    begun[rank] = 56
    calls = [replace(waiting(k, "synchronize"), begun=begun[k]) for k in range(4)]
    expected = f"rank {rank} hangs in {WHERE}, after 56 of 57 collectives; "
    assert who_hangs(calls) == f"{expected}ranks {others} wait in synchronize"
    same = [replace(call, begun=57) for call in calls]
    assert who_hangs(same) == f"ranks 0-3 wait in synchronize, {WHERE}"
    assert who_hangs([replace(calls[0], begun=None), *same[1:]]) == who_hangs(same)


def test_few_of_many_places_are_told():
    calls = [hung(k, call=f"a.py:{k} in f") for k in range(9)]
    assert who_hangs(calls).endswith("rank 3 hangs in a.py:3 in f; 5 more places")


def test_the_verdict():
    late = Verdict(Outcome.TIMEOUT, "ended at its max_duration of 9 s")
    assert with_hang(late, "who").reason == "ended at its max_duration of 9 s: who"
    failed = Verdict(Outcome.FAILED, "rank 0: RuntimeError: Timed out waiting 9 ms\n\nAt: here")
    assert with_hang(failed, "who").reason == "who (rank 0: RuntimeError: Timed out waiting 9 ms)"
    assert with_hang(failed, "") == failed
    others = Verdict(Outcome.FAILED, "ValueError: no"), Verdict(Outcome.CANCELLED, "time out")
    assert [is_hang(verdict) for verdict in (late, failed, *others)] == [True, True, False, False]
    assert with_hang(others[0], "who") == others[0]
