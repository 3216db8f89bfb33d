import errno

import pytest

from milabench_ddp.codec import loads
from milabench_ddp.errors import (
    PlanError,
    RunDirError,
    contained,
    count_text,
    did_you_mean,
    may_pass,
    reason_of,
    shown_names,
)


def test_the_nearest_word_is_suggested() -> None:
    assert (
        did_you_mean("resnet5", ["bert", "resnet50", "resnet152"]) == ": did you mean `resnet50`?"
    )


def test_nothing_is_suggested_where_no_word_is_near() -> None:
    assert did_you_mean("gpt", ["resnet50"]) == ""
    assert did_you_mean("gpt", []) == ""


def test_many_names_are_cut() -> None:
    assert shown_names(["a", "b"]) == "a, b"
    assert shown_names([f"n{k}" for k in range(20)]).endswith("n7 and 12 more")
    assert shown_names(["a", "b", "c"], 2) == "a, b and 1 more"
    assert shown_names([]) == ""


def test_the_reason_of_an_error_says_where_and_what_to_do() -> None:
    assert reason_of(RunDirError("cannot write x")) == "cannot write x"
    with pytest.raises(OSError, match="Too many") as raised:
        raise OSError(errno.EMFILE, "Too many open files", "/x")
    said = reason_of(raised.value)
    assert said.startswith("milabench itself failed: Too many open files: /x, `ulimit -n")
    assert said.endswith(f" (test_errors.py:{raised.tb.tb_lineno})")
    with pytest.raises(ValueError, match="property") as deeper:
        loads("{")
    assert "(codec.py:" in reason_of(deeper.value)
    assert "not enough memory" in reason_of(MemoryError())
    assert "`pids.max`" in reason_of(RuntimeError("can't start new thread"))
    assert "No usable" in reason_of(FileNotFoundError(errno.ENOENT, "No usable folder"))
    of_numpy = ImportError("PLEASE READ THIS")
    of_numpy.__cause__ = ImportError("x.so: failed to map")
    assert "ImportError: x.so: failed to map" in reason_of(of_numpy)
    assert may_pass(MemoryError())
    assert may_pass(RunDirError("the disk is full"))
    assert not may_pass(PlanError("it needs two devices"))


def test_an_error_is_contained_and_told_but_not_a_request_to_end() -> None:
    told: list[Exception] = []
    with contained(told.append):
        raise RecursionError("deep")
    assert [str(each) for each in told] == ["deep"]
    with pytest.raises(KeyboardInterrupt), contained(told.append):
        raise KeyboardInterrupt


def test_a_count_has_its_noun() -> None:
    counts = [count_text(count, "run") for count in (0, 1, 2, 1024)]
    assert counts == ["0 runs", "1 run", "2 runs", "1,024 runs"]
