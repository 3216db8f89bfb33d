"""Files in folders where programs may write, and that they are read in no other way."""

import os
import re
import sys
from contextlib import suppress
from pathlib import Path

import pytest

import milabench_ddp
from milabench_ddp.errors import RunDirError
from milabench_ddp.files import (
    append_file,
    disk_use,
    new_file,
    open_file,
    read_bytes,
    replace_file,
    whole_file,
)
from tests.support.nested import nested

PACKAGE = Path(milabench_ddp.__file__).parent
# Calls that wait for a FIFO without a writer, and read a device without end
WAITS = re.compile(r"\.read_(text|bytes)\(|(?<!os)\.open\(\"|(?<!def )(?<![\w.])open\(|linecache")
MAY_WAIT = {
    "commands/new.py": "files of this package",
    "config/merge.py": "files of this package",
    "config/mistakes.py": "a file, which it looks at first",
    "config/shipped.py": "files of this package",
    "doctor/device_checks.py": "the kernel's files",
    "launch/keeper.py": "a file in memory, which it made",
    "launch/keeper_main.py": "what the kernel says of a pipe to a program, which it made",
    "launch/py_spy.py": "the kernel's files",
    "machine/backends/amd.py": "the kernel's files",
    "machine/host.py": "the kernel's files",
    "machine/host_evidence.py": "files that it made",
    "machine/setting_reader.py": "the kernel's files",
    "machine/provenance.py": "files of installed packages",
    "render/html.py": "files of this package",
    "report/charts/theme.py": "files of this package",
    "report/page/frame.py": "files of this package",
    "report/server/server.py": "files of this package",
    "report/timeline.py": "where the user wants the timeline, also a pipe",
}


def test_nothing_else_opens_a_file() -> None:
    found = set()
    for path in PACKAGE.rglob("*.py"):
        lines = path.read_text().splitlines()
        if any(WAITS.search(line) and "/proc/" not in line for line in lines):
            found.add(str(path.relative_to(PACKAGE)))
    assert found == set(MAY_WAIT)


@pytest.mark.parametrize("target", ["passwd", "nowhere"])
def test_no_file_is_made_or_appended_to_through_a_link(tmp_path: Path, target: str):
    path, secret = tmp_path / "b.log", tmp_path / "passwd"
    secret.write_bytes(b"root")
    path.symlink_to(tmp_path / target)
    with pytest.raises(FileExistsError):
        new_file(path)
    with pytest.raises(RunDirError, match=r"b\.log: it is a link, and is not followed"):
        append_file(path)
    replace_file(path, b"mine")
    assert not path.is_symlink()
    assert path.read_bytes() == b"mine"
    assert secret.read_bytes() == b"root"
    assert not (tmp_path / "nowhere").exists()


def test_a_fifo_is_not_waited_for(tmp_path: Path):
    path = tmp_path / "b.log"
    os.mkfifo(path)
    with pytest.raises(RunDirError, match=r"cannot write .*b\.log: Not a file"):
        append_file(path)
    fd = os.open(path, os.O_RDWR)  # it has a reader
    with pytest.raises(RunDirError, match=r"b\.log: Not a file"):
        append_file(path)
    os.close(fd)


def test_a_file_is_appended_to(tmp_path: Path):
    for text in (b"one", b"two"):
        with append_file(tmp_path / "b.log") as file:
            file.write(text)
    assert (tmp_path / "b.log").read_bytes() == b"onetwo"


def test_what_is_not_a_file_is_not_read(tmp_path: Path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "zeros").symlink_to("/dev/zero")
    for name, reason in {"fifo": "Not a file", "zeros": "Not a file", ".": "Is a dir"}.items():
        with pytest.raises(OSError, match=reason):
            open_file(tmp_path / name)


def test_so_much_of_a_file_is_read(tmp_path: Path):
    (tmp_path / "b").write_bytes(b"0123456789")
    assert [read_bytes(tmp_path / "b", most) for most in (0, 3, 10, 11)] == [
        b"",
        b"012",
        b"0123456789",
        b"0123456789",
    ]
    assert read_bytes(tmp_path / "b") == b"0123456789"


def test_a_file_that_has_no_end_is_not_read(tmp_path: Path):
    with (tmp_path / "b").open("wb") as file:
        file.truncate((1 << 30) + 1)
    with pytest.raises(OSError, match="it has more than 1024 MiB"):
        read_bytes(tmp_path / "b")
    assert read_bytes(tmp_path / "b", 2) == b"\0\0"


def test_the_files_of_a_folder_are_counted(tmp_path: Path):
    assert disk_use(tmp_path) == (0, 0)
    (tmp_path / "b.D0.data").write_bytes(b"12345")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "command.sh").write_bytes(b"67")
    (tmp_path / "b.D0.stdout").symlink_to("/dev/zero")
    assert disk_use(tmp_path) == (7 + len("/dev/zero"), 3)


def test_folders_in_each_other_are_counted_at_any_depth(tmp_path: Path):
    with nested(tmp_path, 2 * sys.getrecursionlimit()):
        (tmp_path / "file").write_bytes(b"12345")
        assert disk_use(tmp_path) == (5, 1)


def test_a_folder_that_is_not_there_has_no_files(tmp_path: Path):
    assert disk_use(tmp_path / "gone") == (0, 0)


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path):
    path = tmp_path / "page.html"
    path.write_text("old")
    (tmp_path / "link.html").symlink_to(path)
    with suppress(KeyboardInterrupt), whole_file(path) as part:
        part.write_text("half of the n")
        raise KeyboardInterrupt
    assert path.read_text() == "old"
    with whole_file(tmp_path / "link.html") as part:
        part.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link.html", "page.html"]
    assert (tmp_path / "link.html").is_symlink()


def test_a_pipe_is_written_to(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    fd = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    with whole_file(tmp_path / "pipe") as part:
        part.write_text("all")
    assert os.read(fd, 10) == b"all"
    os.close(fd)
