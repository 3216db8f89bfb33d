import math

import pytest

from milabench_ddp.events import Data, Event, Note, Outcome, Output, Verdict
from milabench_ddp.hidden import SECRETS
from milabench_ddp.launch.verdict import Observations, judge
from tests.support.result_files import TORCHRUN


def observations(*events: Event) -> Observations:
    observed = Observations()
    for event in events:
        observed.add(event)
    return observed


OK = Verdict(Outcome.OK)
ENOUGH = Verdict(Outcome.OK, "it had enough observations")
TIMEOUT = Verdict(Outcome.TIMEOUT, "why")
CANCELLED = Verdict(Outcome.CANCELLED, "why")
NO_RATE = "exit status 0, but it told no rate: nothing was measured"
UNTASKED = (
    "exit status 0, but it told no rate that counts: nothing was measured: "
    '1 without "task": "train"'
)
NAN = Data("b", 0.0, {"loss": math.nan})
RATE = Data("b", 0.0, {"task": "train", "rate": 1})
STOP = Note("b", 0.0, "stop", None)
ERROR = Note("b", 0.0, "error", {"type": "ValueError", "message": "no"})
INSTRUMENT = Note("b", 0.0, "overseer_error", {"type": "TypeError", "message": "bad"})


def failed(reason: str) -> Verdict:
    return Verdict(Outcome.FAILED, reason)


@pytest.mark.parametrize(
    ("events", "code", "stopped", "expected"),
    [
        ([RATE], 0, None, OK),
        ([], 0, None, failed(NO_RATE)),
        ([RATE], 1, None, failed("exit status 1")),
        ([RATE], -9, None, failed("killed by SIGKILL")),
        ([RATE], -99, None, failed("killed by signal 99")),
        ([RATE, ERROR], 1, None, failed("ValueError: no")),
        ([RATE, ERROR], 0, None, failed("ValueError: no")),
        ([RATE, INSTRUMENT], 0, None, failed("an instrument failed: TypeError: bad")),
        ([RATE, INSTRUMENT], 1, None, failed("exit status 1")),
        ([RATE, STOP], 143, None, OK),
        ([RATE], -15, ENOUGH, OK),
        ([STOP], -15, ENOUGH, failed(NO_RATE)),
        ([RATE], 0, TIMEOUT, TIMEOUT),
        ([RATE, STOP], -15, CANCELLED, CANCELLED),
        ([RATE, NAN], 0, None, failed("the loss became NaN")),
        ([Data("b", 0.0, {"rate": 1.0})], 0, None, failed(UNTASKED)),
    ],
)
def test_judge(events: list[Event], code: int, stopped: Verdict | None, expected: Verdict):
    assert judge(observations(*events), code, stopped) == expected


FRAMES = ("Traceback (most recent call last):", '  File "a.py", line 1, in <module>', "    f()")


def printed(*lines: str) -> Observations:
    return observations(*(Output("b", 0.0, "stderr", f"{line}\n") for line in lines))


CHAINED = "During handling of the above exception, another exception occurred:"


@pytest.mark.parametrize(
    ("lines", "code", "reason"),
    [
        ((*FRAMES, "ValueError: no"), 1, "exit status 1: ValueError: no"),
        ((*FRAMES, "ValueError: no"), 3, "exit status 3"),
        ((*FRAMES, "KeyboardInterrupt"), 1, "exit status 1: KeyboardInterrupt"),
        ((*FRAMES, "own.OutOfPatience: a", "b"), 1, "exit status 1: own.OutOfPatience: a"),
        (
            ('  File "a.py", line 1', "    (", "SyntaxError: no"),
            1,
            "exit status 1: SyntaxError: no",
        ),
        ((*FRAMES, "A: 1", "", CHAINED, "", *FRAMES, "B: 2"), 1, "exit status 1: B: 2"),
        ((*FRAMES, "A: 1", *["it goes on"] * 30, "no data"), 1, "exit status 1"),
        ((*FRAMES[:1], "  no frames"), 1, "exit status 1"),
        (("ValueError: a log",), 1, "exit status 1"),
        ((*FRAMES, f"A: {'x' * 9999}"), 1, f"exit status 1: A: {'x' * 497}"),
    ],
    ids=str,
)
def test_the_exception_of_a_traceback_is_the_reason(
    lines: tuple[str, ...], code: int, reason: str
) -> None:
    assert judge(printed(*lines), code, None) == failed(reason)


def test_torchrun_does_not_hide_the_exception_of_a_rank() -> None:
    """That of rank 0 follows: its peer was gone."""
    assert judge(printed(*TORCHRUN), 1, None) == failed(
        "rank 1: exit status 1: ValueError: rank one is bad"
    )
    turned = [line for line in TORCHRUN if "rank1]" not in line]
    assert judge(printed(*turned, *[line for line in TORCHRUN if "rank1]" in line]), 1, None) == (
        failed("rank 1: exit status 1: ValueError: rank one is bad")
    )


def test_a_launcher_whose_ranks_report_nothing_need_not_report():
    assert judge(Observations(), 0, None, must_report=False) == OK


def test_the_first_error_stands_and_names_its_rank():
    first = Note("b", 0.0, "error", {"type": "ValueError", "message": "no", "rank": 3})
    assert judge(observations(first, ERROR), 1, None) == failed("rank 3: ValueError: no")


def test_an_error_that_follows_from_another_gives_way():
    first = {"type": "RuntimeError", "message": "Connection closed by peer", "rank": 0}
    cause = {"type": "ValueError", "message": "no", "rank": 1}
    for data in ((first, cause), (cause, first)):
        said = observations(*(Note("b", 0.0, "error", each) for each in data))
        assert judge(said, 1, None) == failed("rank 1: ValueError: no")


LACKS = {"type": "SkippedError", "message": "it has no fp8", "rank": 0, "skip": True}
FOLLOWS = {"type": "RuntimeError", "message": "Connection closed by peer", "rank": 1}


@pytest.mark.parametrize("errors", [[LACKS], [LACKS, LACKS], [LACKS, FOLLOWS], [FOLLOWS, LACKS]])
def test_what_a_device_does_not_have_is_skipped(errors: list[dict[str, object]]):
    said = observations(*(Note("b", 0.0, "error", each) for each in errors))
    assert judge(said, 2, None) == Verdict(Outcome.SKIPPED, "it has no fp8")


def test_an_error_beside_a_refusal_is_a_failure():
    said = observations(Note("b", 0.0, "error", LACKS), ERROR)
    assert judge(said, 1, None) == failed("ValueError: no")


def test_what_was_stopped_is_not_skipped():
    assert judge(observations(Note("b", 0.0, "error", LACKS)), -15, CANCELLED) == CANCELLED


def launcher(*exits: tuple[int, int]) -> list[Event]:
    """torchrun's summary of ranks and their exit codes, on stderr."""
    lines = ["torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"]
    for rank, code in exits:
        lines += [f"  rank      : {rank} (local_rank: 0)\n", f"  exitcode  : {code} (pid: 7)\n"]
    return [Output("b", 0.0, "stderr", line) for line in lines]


def test_a_rank_that_was_killed_comes_before_those_that_missed_it():
    lost = Note("b", 0.0, "error", {"message": "Connection closed by peer", "rank": 0})
    killed = observations(lost, *launcher((0, 1), (1, -9)))
    assert judge(killed, 1, None) == failed("rank 1: killed by SIGKILL")


def test_ranks_that_torchrun_kills_come_after_the_error():
    error = Note("b", 0.0, "error", {"type": "ValueError", "message": "no", "rank": 1})
    late = observations(error, *launcher((0, -9), (1, 1)))
    assert judge(late, 1, None) == failed("rank 1: ValueError: no")


def test_a_rank_that_torchrun_kills_after_a_timeout_was_not_killed_first():
    """It was stopped, say; torchrun kills what does not end within 30 s."""
    said = {"message": "Timed out waiting 9 ms for recv operation to complete", "rank": 0}
    late = observations(Note("b", 0.0, "error", said), *launcher((1, -9), (0, 1)))
    assert judge(late, 1, None).reason.startswith("rank 0: error: Timed out waiting 9 ms")


@pytest.mark.parametrize(
    ("data", "reason"),
    [({}, "error"), ({"type": "KeyError"}, "KeyError"), ({"message": "no"}, "error: no")],
)
def test_an_error_may_say_little(data: dict[str, str], reason: str):
    assert observations(Note("b", 0.0, "error", data)).error == reason


def test_an_error_may_say_much():
    """The result file has all of it."""
    data = {"type": "RuntimeError", "message": "first " + "x" * 10**6 + " last", "rank": 3}
    error = observations(Note("b", 0.0, "error", data)).error
    assert len(error) < 2100
    assert error.startswith("rank 3: RuntimeError: first xxx")
    assert "xxx [... 998,025 more characters ...] xxx" in error
    assert error.endswith("xxx last")


def test_a_program_may_say_anything_of_itself():
    observed = observations(
        Note("b", 0.0, "error", "a text"),
        Note("b", 0.0, "begin", {"time": "now"}),
        Note("b", 0.0, "begin", None),
        Data("b", 0.0, {"loss": "x", "units": None, "steps": "x", "rank": "x"}),
    )
    observed.times.clear()
    assert observed == Observations()


def test_what_a_program_says_of_its_progress_is_kept():
    assert observations(Note("b", 0.0, "ready", {})).is_ready


@pytest.mark.parametrize(
    ("later", "reason"),
    [
        ([], "rank 1: ALLREDUCE (SeqNum 9) timed out after 100 s"),
        ([ERROR], "ValueError: no"),  # of the rank that did not come
    ],
)
def test_a_collective_that_timed_out_is_the_reason_unless_another_rank_has_one(
    later: list[Event], reason: str
) -> None:
    line = (
        "[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9, "
        "OpType=ALLREDUCE, Timeout(ms)=100000) ran for 100060 milliseconds before timing out."
    )
    abort = ["ChildFailedError: ", "  rank      : 1 (local_rank: 1)", "  exitcode  : -6 (pid: 7)"]
    prefix = "torch.distributed.elastic.multiprocessing.errors."
    lines = [line, prefix + abort[0], *abort[1:]]
    said = [Output("b", 0.0, "stderr", f"{text}\n") for text in lines]
    assert judge(observations(*said, *later), 1, None) == failed(reason)


def test_one_that_goes_on_is_told_from_one_that_hangs():
    """36 rates, in bursts of 12 each 10 s: what came together is one sign of life, not 12."""
    observed = Observations()
    for burst in range(3):
        for _ in range(12):
            observed.add(Data("b", 100.0 + 10 * burst, {"task": "train", "rate": 1.0}))
    assert observed.goes_on(121.0)
    assert observed.progress(121.0) == (
        "it goes on: 36 observations, the last data came 1.0 s before its deadline; "
        "raise max_duration"
    )
    assert not observed.goes_on(151.0)
    early = Observations()
    early.add(Data("b", 100.0, {"task": "train", "rate": 1.0}))
    assert not early.goes_on(101.0)  # of one line it is not known when the next comes


@pytest.mark.parametrize("kind", ["printed", "told", "skipped"])
def test_a_message_that_is_cut_shows_no_part_of_a_secret(kind: str) -> None:
    """Whatever the place at which it is cut: what is left of a secret is not recognized."""
    secret = "planted-0123456789"
    SECRETS.learn_environ({"MY_TOKEN": secret})
    for before in (*range(470, 501), *range(970, 1001)):
        message = "x" * before + secret + "y" * 2000
        if kind == "printed":
            observed = printed(*FRAMES, f"ValueError: {message}")
        else:
            data = {"type": "E", "message": message, "skip": kind == "skipped"}
            observed = observations(Note("b", 0.0, "error", data))
        assert "plant" not in SECRETS.hide(judge(observed, 1, None).reason), before
