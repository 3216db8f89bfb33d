"""Files that are written in a thread; the disk that fills, hangs or vanishes is planted."""

import errno
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from milabench_ddp.errors import RunDirError
from milabench_ddp.results.file_writer import FileWriter
from tests.support.hung_disk import HungDisk
from tests.support.wait import wait_for


@pytest.fixture
def hung(monkeypatch: pytest.MonkeyPatch) -> Iterator[HungDisk]:
    disk = HungDisk(monkeypatch)
    disk.hang()
    yield disk
    disk.go_on()


def test_what_is_appended_is_written_in_order(tmp_path: Path):
    files = FileWriter()
    a, b = tmp_path / "a", tmp_path / "b"
    for number in range(100):
        files.append(a, b"%d\n" % number)
        files.append(b, b"")
    files.flush()
    assert a.read_bytes() == b"".join(b"%d\n" % number for number in range(100))
    assert b.read_bytes() == b""
    files.append(a, b"end")
    files.close()
    assert a.read_bytes().endswith(b"99\nend")


def test_nothing_is_made_for_nothing():
    FileWriter().close()


def test_who_writes_never_waits_for_a_disk_that_hangs(tmp_path: Path, hung: HungDisk):
    woken = threading.Event()
    files = FileWriter(woken.set, capacity=10)
    path = tmp_path / "a"
    files.append(path, b"12345\n")
    assert files.has_room()
    files.append(path, b"67890\n")
    assert not files.has_room()
    with pytest.raises(RunDirError, match=r"cannot write .*/a: the disk has not answered for 0 s"):
        files.flush(patience=0.01)
    assert not woken.is_set()
    hung.go_on()
    files.flush()
    assert files.has_room()
    assert path.read_bytes() == b"12345\n67890\n"
    assert woken.is_set()
    files.close()


def test_the_end_does_not_wait_for_it_for_ever(tmp_path: Path, hung: HungDisk):
    woken: list[str] = []
    files = FileWriter(lambda: woken.append("awake"), capacity=1)
    files.append(tmp_path / "a", b"1\n")
    wait_for(lambda: (tmp_path / "a").exists())
    files.append(tmp_path / "a", b"2\n3\n")
    with pytest.raises(RunDirError, match="2 lines are not written"):
        files.close(patience=0.01)
    hung.go_on()
    wait_for(lambda: (tmp_path / "a").read_bytes() == b"1\n2\n3\n")
    assert woken == []  # what it would wake is gone


def test_who_is_in_a_hurry_does_not_wait_at_all(tmp_path: Path, hung: HungDisk):
    files = FileWriter()
    files.append(tmp_path / "a", b"1\n")
    with pytest.raises(RunDirError, match="has not answered"):
        files.close(patience=1e6, is_hurried=lambda: True)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS])
def test_an_error_of_the_disk_reaches_the_next_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
):
    def fail(fd: int, data: bytes) -> int:
        raise OSError(code, os.strerror(code))

    woken = threading.Event()
    files = FileWriter(woken.set)
    path = tmp_path / "a"
    files.append(path, b"")
    files.flush()
    write = os.write
    monkeypatch.setattr(os, "write", fail)
    files.append(path, b"1\n")
    assert woken.wait(60)
    monkeypatch.setattr(os, "write", write)
    said = f"cannot write {path}: {os.strerror(code)}"
    with pytest.raises(RunDirError, match=said):
        files.has_room()
    with pytest.raises(RunDirError, match=said):
        files.append(path, b"2\n")
    with pytest.raises(RunDirError, match=said) as raised:
        files.close()
    assert isinstance(raised.value.__cause__, OSError)
    assert path.read_bytes() == b""


@pytest.mark.parametrize("kind", ["link", "dangling link", "fifo", "file", "folder"])
def test_what_is_in_its_place_is_not_written_to(tmp_path: Path, kind: str):
    path, secret = tmp_path / "b.D0.data", tmp_path / "passwd"
    secret.write_bytes(b"root")
    match kind:
        case "link":
            path.symlink_to(secret)
        case "dangling link":
            path.symlink_to(tmp_path / "nowhere")
        case "fifo":
            os.mkfifo(path)
        case "file":
            path.write_bytes(b"root")
        case _:
            path.mkdir()
    files = FileWriter()
    files.append(path, b"planted\n")
    with pytest.raises(RunDirError, match="something in its place, and it is not written to"):
        files.close()
    assert secret.read_bytes() == b"root"
    assert not (tmp_path / "nowhere").exists()
    if kind == "file":
        assert path.read_bytes() == b"root"


def test_a_file_that_vanishes_while_it_is_written_is_told(tmp_path: Path):
    files = FileWriter()
    path = tmp_path / "a"
    files.append(path, b"1\n")
    files.flush()
    path.unlink()
    files.append(path, b"2\n")
    with pytest.raises(RunDirError, match=r"cannot write .*/a: it was removed while"):
        files.close()
