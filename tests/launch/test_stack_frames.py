"""Stacks as faulthandler and py-spy write them, and what a thread in them does."""

import json
import os
from pathlib import Path

import pytest

from milabench_ddp.launch.stack_frames import (
    Frame,
    active,
    caller,
    of_faulthandler,
    of_py_spy,
    waits_in,
)

TORCH = "/venv/lib/python3.11/site-packages/torch"
C10D = f"{TORCH}/distributed/distributed_c10d.py"
LOGGED = Frame(f"{TORCH}/distributed/c10d_logger.py", 84, "wrapper")
ENGINE = Frame(f"{TORCH}/autograd/graph.py", 1113, "_engine_run_backward")
BACKWARD = [ENGINE, Frame(f"{TORCH}/_tensor.py", 623, "backward")]
BODY = Frame("/programs/gpt/main.py", 41, "body")
THREAD = Frame("/usr/lib/python3.11/threading.py", 1002, "_bootstrap")
SOCKET = Frame("/usr/lib/python3.11/selectors.py", 415, "select")
LOADER = Frame(f"{TORCH}/utils/data/dataloader.py", 733, "__next__")

# As Python 3.11 wrote it, of a rank that was asked in its backward pass
TEXT = f"""Thread 0x00007f69260546c0 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 982 in run
  File "/usr/lib/python3.11/threading.py", line 1002 in _bootstrap

Current thread 0x00007f69f1feeb80 [python] (most recent call first):
  File "{TORCH}/autograd/graph.py", line 1113 in _engine_run_backward
  File "/tmp/a "b", line 3.py", line 25 in <module>
"""


def test_faulthandler():
    threads = of_faulthandler(TEXT)
    assert [len(thread) for thread in threads] == [2, 2]
    assert threads[-1] == [ENGINE, Frame('/tmp/a "b", line 3.py', 25, "<module>")]
    cut = TEXT[: TEXT.index("Current")] + 'Current thread 0x1 (most recent call first):\n  File "x'
    assert of_faulthandler(cut)[-1] == []
    assert of_faulthandler("") == []


def test_py_spy():
    frame = {"filename": "/main.py", "line": 41, "name": "body", "short_filename": "main.py"}
    threads = [
        {"thread_name": "MainThread", "frames": [frame]},
        {"thread_name": None, "frames": []},
    ]
    assert of_py_spy(json.dumps(threads)) == [[], [Frame("/main.py", 41, "body")]]


@pytest.mark.parametrize(
    "text",
    [
        "Error: Permission Denied",
        "[{}]",
        "",
        "null",
        '[{"frames": [{"filename": 3, "line": "x", "name": null}]}]',
        "[" * 100_000,
    ],
)
def test_py_spy_that_tells_nothing(text: str):
    assert of_py_spy(text) == []


@pytest.mark.parametrize(
    ("stack", "expected"),
    [
        ([Frame(C10D, 2810, "all_reduce"), LOGGED, BODY], "all_reduce"),
        ([Frame(C10D, 4000, "barrier"), LOGGED, BODY], "barrier"),
        ([Frame(C10D, 1, "recv"), Frame(C10D, 2, "recv_object_list"), BODY], "recv_object_list"),
        ([*BACKWARD, BODY], "backward"),
        ([Frame(f"{TORCH}/cuda/streams.py", 231, "synchronize"), BODY], "synchronize"),
        ([BODY, *BACKWARD, BODY], ""),  # a hook of the program
        ([LOADER, BODY], ""),
        ([SOCKET, LOADER, BODY], ""),
        ([Frame(f"{TORCH}/nn/modules/linear.py", 1, "forward"), *BACKWARD, BODY], ""),
        ([Frame(f"{TORCH}/nn/modules/linear.py", 1, "forward"), LOGGED, BODY], ""),
        ([BODY], ""),
        ([], ""),
    ],
)
def test_waits_in(stack: list[Frame], expected: str):
    assert waits_in(stack) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("work.wait()", "wait"),
        ("total = loss.item()", "item"),
        ("return float(found)", "float"),
        ("time.sleep(float(seconds))", ""),
        ("awaited = 3", ""),
    ],
)
def test_waits_that_c_does_at_once(tmp_path: Path, line: str, expected: str):
    program = tmp_path / "main.py"
    program.write_text(f"import time\n{line}\n")
    assert waits_in([Frame(str(program), 2, "<module>")]) == expected


def test_a_hook_of_the_backward_pass_may_be_in_a_thread_of_c():
    hook = [Frame("/programs/gpt/main.py", 7, "hook")]
    assert active([[THREAD], hook, [*BACKWARD, BODY]]) == hook
    assert active([[THREAD], [*BACKWARD, BODY]]) == [*BACKWARD, BODY]
    assert active([hook, [BODY]]) == [BODY]
    assert active([]) == ()


def test_the_caller_is_the_innermost_call_that_is_not_of_a_library():
    assert caller([SOCKET, LOADER, BODY]) == BODY
    assert caller([SOCKET, LOADER]) == SOCKET
    assert caller([]) is None
    assert str(BODY) == "main.py:41 in body"


def test_the_source_of_a_call(tmp_path: Path):
    (tmp_path / "main.py").write_bytes(b"first\n  caf\xe9()  \n")
    file = str(tmp_path / "main.py")
    sources = [Frame(file, line, "f").source for line in (1, 2, 3, 10**8)]
    assert sources == ["first", "caf\\xe9()", "", ""]


@pytest.mark.parametrize("file", ["/dev/zero", "/none", "main\0.py", "", "/", "fifo", "a" * 5000])
def test_a_call_in_what_is_no_source_file_has_none(tmp_path: Path, file: str):
    os.mkfifo(tmp_path / "fifo")
    assert Frame(str(tmp_path / file) if file == "fifo" else file, 1, "f").source == ""


def test_a_line_number_without_end_is_none():
    text = f'Thread 0x1 (most recent call first):\n  File "a", line {"9" * 5000} in f\n'
    assert of_faulthandler(text) == [[]]
