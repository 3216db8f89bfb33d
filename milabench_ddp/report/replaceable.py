"""Writes the files that a report is asked for, and replaces only what milabench wrote itself."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import RunDirError, disk_errors
from ..files import open_file, whole_file

HEAD = 4096  # bytes in which a file tells what wrote it


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """As ``whole_file``; raises RunDirError if the file cannot be written."""
    with disk_errors("write", path), whole_file(path) as part:
        yield part


def check_replaceable(path: Path, mark: str) -> None:
    """Refuse to replace a file that milabench did not write: it may be the work of a day.

    An empty file can be replaced, and a path that is not a file, such as a pipe, is written to.

    Args:
        mark: a text near the beginning of every file of this kind that milabench writes.

    Raises:
        RunDirError: there is a file without the mark.
    """
    if not path.is_file():
        return
    with disk_errors("read", path), open_file(path) as file:
        head = file.read(HEAD)
    if head and mark.encode() not in head:
        refuse(path)


def refuse(path: Path) -> None:
    raise RunDirError(
        f"{path} exists, and milabench did not write it as such a file: "
        "name another, or add --overwrite"
    )
