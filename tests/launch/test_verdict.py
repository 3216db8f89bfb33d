import math

import pytest

from milabench_ddp.events import Data, Note, Outcome
from milabench_ddp.launch.verdict import Witness, judge, worst


def witness(*events: object) -> Witness:
    seen = Witness()
    for event in events:
        seen.see(event)  # type: ignore[arg-type]
    return seen


NO_RATE = "it ended with 0 but reported no rate, so nothing was measured"
NAN = Data("b", 0.0, {"loss": math.nan})
RATE = Data("b", 0.0, {"task": "train", "rate": 1})
STOP = Note("b", 0.0, "stop", None)
ERROR = Note("b", 0.0, "error", {"type": "ValueError", "message": "no"})


@pytest.mark.parametrize(
    ("events", "code", "cause", "expected"),
    [
        ([RATE], 0, None, (Outcome.OK, "")),
        ([], 0, None, (Outcome.FAILED, NO_RATE)),
        ([RATE], 1, None, (Outcome.FAILED, "exit status 1")),
        ([RATE], -9, None, (Outcome.FAILED, "killed by SIGKILL")),
        ([RATE], -99, None, (Outcome.FAILED, "killed by signal 99")),
        ([RATE, ERROR], 1, None, (Outcome.FAILED, "ValueError: no")),
        ([RATE, ERROR], 0, None, (Outcome.FAILED, "ValueError: no")),
        ([RATE, STOP], 143, None, (Outcome.OK, "")),
        ([RATE], -15, Outcome.OK, (Outcome.OK, "")),
        ([STOP], -15, Outcome.OK, (Outcome.FAILED, NO_RATE)),
        ([RATE], 0, Outcome.TIMEOUT, (Outcome.TIMEOUT, "why")),
        ([RATE, STOP], -15, Outcome.CANCELLED, (Outcome.CANCELLED, "why")),
        ([RATE, NAN], 0, None, (Outcome.FAILED, "the loss became NaN")),
        ([Data("b", 0.0, {"rate": True})], 0, None, (Outcome.FAILED, NO_RATE)),
    ],
)  # fmt: skip
def test_judge(events, code, cause, expected):
    assert judge(witness(*events), code, cause, "why") == expected


def test_a_launcher_whose_ranks_report_nothing_need_not_report():
    assert judge(Witness(), 0, None, "", reports=False) == (Outcome.OK, "")


def test_what_a_program_says_of_itself_may_be_anything():
    seen = witness(
        Note("b", 0.0, "error", "a text"),
        Note("b", 0.0, "begin", {"time": "now"}),
        Note("b", 0.0, "begin", None),
        Data("b", 0.0, {"rate": None, "loss": "x"}),
    )
    assert seen == Witness()


def test_the_worst_names_the_whole():
    ok, failed, late = (Outcome.OK, ""), (Outcome.FAILED, "x"), (Outcome.TIMEOUT, "y")
    assert worst([ok, ok]) == ok
    assert worst([ok, late, failed]) == failed
    assert worst([]) == ok
