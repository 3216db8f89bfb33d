from pathlib import Path

import pytest

from milabench_ddp.report.build import report_of
from milabench_ddp.report.model import NAN, Failure, Report, Row, RunInfo
from milabench_ddp.report.states import State, state, succeeded
from tests.support.result_files import config, end, rates, start, write

HEAD = "Traceback (most recent call last):"
FRAME = '  File "main.py", line 5, in main'
CUDA = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
ROW = Row("b", 1, 1, 1, NAN, NAN, NAN, NAN, NAN, 0.0)


def of(outcome: str, reason: str, *lines: str) -> State | None:
    return state(Report(False, (), (), (Failure("b", "r", "b.0", outcome, reason, 1, lines),)), ROW)


@pytest.mark.parametrize(
    ("outcome", "reason", "lines", "shown"),
    [
        ("failed", "exit status 1", (HEAD, "KeyError: 1", ""), ("Traceback", "KeyError: 1")),
        ("failed", "", (f"[rank1]: {HEAD}", "[rank1]: E: x"), ("Traceback", "E: x")),
        ("failed", "", (HEAD, FRAME, "E: x", "", "Set VERBOSE=1"), ("Traceback", "E: x")),
        ("failed", "", (HEAD, FRAME, "E: first", "During it", HEAD, "E: x"), ("Traceback", "E: x")),
        ("failed", "", ("    cut()", FRAME, "    x", "E: x"), ("Traceback", "E: x")),
        ("failed", "rank 3: ValueError: bad", (), ("Traceback", "rank 3: ValueError: bad")),
        ("failed", "exit status 3", ("out of patience",), ("failed", "exit status 3")),
        ("failed", "", ("last words",), ("failed", "last words")),
        ("failed", "killed by SIGSEGV", (), ("failed", "killed by SIGSEGV")),
        ("failed", "exit status 1", (HEAD, CUDA), ("oom", CUDA)),
        ("failed", "rank 0: torch.OutOfMemoryError: x", (), None),
        ("failed", "Slurm: OUT_OF_MEMORY", (), ("oom", "Slurm: OUT_OF_MEMORY")),
        ("lost", "1 oom_kill event in step 3.0", (), ("oom", "1 oom_kill event in step 3.0")),
        ("failed", "", (HEAD, "KeyError: room"), ("Traceback", "KeyError: room")),
        ("timeout", "longer than 9 s", (HEAD, CUDA), ("timeout", "longer than 9 s")),
        ("lost", "node 3 does not answer", ("x",), ("lost", "node 3 does not answer")),
        ("cancelled", "stopped by SIGINT", (), ("cancelled", "stopped by SIGINT")),
    ],
)  # fmt: skip
def test_a_failure(
    outcome: str, reason: str, lines: tuple[str, ...], shown: tuple[str, str] | None
) -> None:
    assert of(outcome, reason, *lines) == State(*(shown or ("oom", reason)))


@pytest.mark.parametrize(
    ("run", "shown"),
    [
        ({"running": ("b",)}, State("running")),
        ({"waiting": ("b",)}, State("waiting..")),
        ({"skipped": (("b", "it needs 8 GPUs"),)}, State("skipped", "it needs 8 GPUs")),
        ({"waiting": ("b",), "outcome": "ok"}, None),
        ({"running": ("c",)}, None),
    ],
)
def test_what_has_not_ended(run: dict[str, object], shown: State | None) -> None:
    info = RunInfo("r", Path("r"), **{"outcome": None, **run})  # type: ignore[arg-type]
    row = Row("b", 0, 0, 0, NAN, NAN, NAN, NAN, NAN, 0.0)
    assert state(Report(False, (info,), ()), row) == shown


def test_launches_that_ended_ok(tmp_path: Path) -> None:
    """A launch is ok where all its processes are."""
    for repeat, device, code in ((0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 3)):
        tag = ["b", f"R{repeat}", f"D{device}"]
        ended = end(code, outcome="failed" if code else "ok", reason="x" if code else "")
        settings = config("b", device=device, tag=tag)
        write(tmp_path, ".".join(tag), settings, start(), rates([1.0]), ended)
    (row,) = report_of([tmp_path]).rows
    assert succeeded(row) == (1, 2)
    assert succeeded(ROW) == (0, 0)
