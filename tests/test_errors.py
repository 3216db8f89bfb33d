import errno
from pathlib import Path

import pytest

from milabench_ddp.codec import loads
from milabench_ddp.errors import (
    PlanError,
    RunDirError,
    SelectionError,
    contained,
    count_text,
    counts_text,
    did_you_mean,
    disk_errors,
    may_pass,
    reason_of,
    require_known,
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


def test_an_error_of_the_disk_names_the_file_and_keeps_its_number(tmp_path: Path) -> None:
    path = tmp_path / "none" / "file"
    with pytest.raises(RunDirError) as told, disk_errors("write", path, "; choose another"):
        path.touch()
    assert str(told.value) == f"cannot write {path}: No such file or directory; choose another"
    assert isinstance(told.value.__cause__, FileNotFoundError)


def test_an_error_without_a_reason_of_the_system_is_told_in_its_own_words(tmp_path: Path) -> None:
    with pytest.raises(RunDirError, match=": it is silent"), disk_errors("read", tmp_path):
        raise OSError("it is silent")


def test_an_unknown_word_is_refused_beside_the_known_ones() -> None:
    require_known("--sort", "rate", ["rate", "name"])
    with pytest.raises(SelectionError, match="--sort rat: unknown; did you mean `rate`"):
        require_known("--sort", "rat", ["rate", "name"])


def test_words_are_counted() -> None:
    assert counts_text({"ok": 11, "failed": 1}) == "11 ok, 1 failed"
    assert counts_text({}) == ""
