"""What torchrun and the kernel tell of an end, and which failure follows from another."""

import pytest

from milabench_ddp.launch.causes import (
    HOST_OUT_OF_MEMORY,
    LastException,
    LauncherSummary,
    may_follow,
    timed_out,
    with_kernel,
)
from milabench_ddp.tracebacks import TRACEBACK
from tests.support.result_files import TORCHRUN

NONE = LastException()


def summary(**exits: int) -> LauncherSummary:
    """The summary of torchrun of these exit codes; the last one is its root cause."""
    found = LauncherSummary()
    for line in summary_lines(**exits):
        found.read(line + "\n")
    return found


def summary_lines(**exits: int) -> list[str]:
    """The lines for ranks ``r0``, ``r1``, ..., as PyTorch 2.15 prints them."""
    lines = ["torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ", "=" * 60]
    for name, code in exits.items():
        rank = name.removeprefix("r")
        lines += [f"  rank      : {rank} (local_rank: {rank})", f"  exitcode  : {code} (pid: 77)"]
    return lines


@pytest.mark.parametrize("rank", [0, 1, 7])
def test_the_rank_that_was_killed_is_named_whichever_it_is(rank: int) -> None:
    codes = {f"r{each}": -9 if each == rank else -15 for each in range(8)}
    assert summary(**codes).killed == f"rank {rank}: killed by SIGKILL"
    others = {f"r{each}": -9 if each == rank else 1 for each in range(8)}
    assert summary(**others).killed == f"rank {rank}: killed by SIGKILL"


def test_a_rank_that_aborted_may_have_waited_for_another() -> None:
    found = summary(r0=-6, r1=-11)
    assert found.killed == "rank 1: killed by SIGSEGV"
    assert (summary(r0=-6).killed, summary(r0=-6).ended_first(NONE)) == (
        "",
        "rank 0: killed by SIGABRT",
    )
    assert summary(r0=-15, r1=1).ended_first(NONE) == ""


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_the_rank_that_someone_ended_is_the_root_cause(rank: int) -> None:
    """torchrun ends the others by the same signal, afterwards."""
    others = {f"r{each}": -15 for each in range(3) if each != rank}
    found = summary(**others, **{f"r{rank}": -15})
    assert (found.killed, found.ended_first(NONE)) == ("", f"rank {rank}: killed by SIGTERM")


@pytest.mark.parametrize(
    ("raised", "reason"),
    [
        (["0"], "rank 1: exit status 7"),  # rank 1 said nothing
        (["0", "1"], ""),
        ([""], ""),  # the ranks are not told apart
        ([], ""),
    ],
)
def test_a_rank_that_ends_in_silence_is_first(raised: list[str], reason: str) -> None:
    found = LastException()
    for rank in raised:
        mark = f"[rank{rank}]: " if rank else ""
        for line in (TRACEBACK, "RuntimeError: Connection closed by peer [127.0.0.1]:24489."):
            found.read(mark + line)
    assert summary(r0=-15, r1=7).ended_first(found) == reason


GROUP = """\
  + Exception Group Traceback (most recent call last):
  |   File "main.py", line 5, in <module>
  |     raise ExceptionGroup("in a TaskGroup", [error])
  | ExceptionGroup: in a TaskGroup (1 sub-exception)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "main.py", line 3, in <module>
    |     raise KeyError("a")
    | KeyError: 'a'
    +------------------------------------
"""


@pytest.mark.parametrize("mark", ["", "[rank1]: "])
def test_the_last_exception_of_a_group_is_told(mark: str) -> None:
    found = LastException()
    for line in GROUP.split("\n"):
        found.read(mark + line)
    assert found.text == "KeyError: 'a'"


def test_the_summary_of_torchrun() -> None:
    found = LauncherSummary()
    for line in TORCHRUN:
        found.read(line)
    assert found.exits == {0: -15, 1: 1}
    assert found.names_an_exit
    assert found.killed == found.ended_first(NONE) == ""


def test_what_a_program_prints_is_no_summary() -> None:
    found = LauncherSummary()
    for line in summary_lines(r0=-9)[1:]:
        found.read(line)
    assert found.exits == {}


WATCHDOG = (
    "[rank{0}]:[E321 02:07:08.408 ProcessGroupNCCL.cpp:607] [{1}Rank {0}] Watchdog caught "
    "collective operation timeout: WorkNCCL({2}Timeout(ms)=100000) ran for 100060 milliseconds "
    "before timing out."
)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            WATCHDOG.format(0, "", "SeqNum=1580, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, "),
            "rank 0: ALLREDUCE (SeqNum 1580) timed out after 100 s",
        ),
        (
            WATCHDOG.format(7, "PG ID 2 PG GUID 3 ", "SeqNum=5, OpType=_ALLGATHER_BASE, "),
            "rank 7: _ALLGATHER_BASE (SeqNum 5) timed out after 100 s",
        ),
        (WATCHDOG.format(3, "", "OpType=RECV, "), "rank 3: RECV timed out after 100 s"),
        ("[rank0]: RuntimeError: Timed out waiting 2000ms for recv operation to complete", ""),
        ("Watchdog caught collective operation timeout: a program quotes it", ""),
    ],
)
def test_the_rank_and_the_collective_of_a_time_out(line: str, said: str) -> None:
    assert timed_out(line) == said
    assert not said or may_follow(said)  # the rank that did not come has the reason


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("rank 0: RuntimeError: Connection closed by peer [127.0.0.1]:938", True),
        ("rank 0: DistBackendError: NCCL error in: x.cpp:9, unhandled cuda error", True),
        ("rank 0: DistBackendError: NCCL: Last error: Cuda failure 2 'out of memory'", False),
        ("rank 0: DistBackendError: NCCL error: remote process exited", True),
        ("rank 3: RuntimeError: Timed out waiting 1800000ms for recv operation", True),
        ("rank 0: BrokenPipeError: [Errno 32] Broken pipe", True),
        ("rank 1: ValueError: no", False),
        ("exit status 1", False),
        ("killed by SIGKILL", False),
    ],
)
def test_may_follow(reason: str, expected: bool) -> None:
    assert may_follow(reason) is expected


def test_the_kernel_is_named_where_it_has_killed() -> None:
    worker = "RuntimeError: DataLoader worker (pid 7) is killed by signal: Killed. "
    assert with_kernel("rank 1: killed by SIGKILL", 1) == (
        f"rank 1: killed by SIGKILL: {HOST_OUT_OF_MEMORY}"
    )
    assert with_kernel(worker, 1).endswith(HOST_OUT_OF_MEMORY)
    assert with_kernel("killed by SIGKILL", 0) == "killed by SIGKILL"
    assert with_kernel("exit status 1", 1) == "exit status 1"
