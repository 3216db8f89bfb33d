"""Writes the files that a report is asked for, and replaces only what milabench wrote itself."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import RunDirError
from ..files import open_file, whole_file

HEAD = 4096  # bytes in which a file tells what wrote it


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """As ``whole_file``; raises RunDirError if the file cannot be written."""
    try:
        with whole_file(path) as part:
            yield part
    except OSError as error:
        raise RunDirError(f"cannot write {path}: {error.strerror}") from error


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
    try:
        with open_file(path) as file:
            head = file.read(HEAD)
    except OSError as error:
        raise RunDirError(f"cannot read {path}: {error.strerror}") from error
    if head and mark.encode() not in head:
        refuse(path)


def refuse(path: Path) -> None:
    raise RunDirError(
        f"{path} exists, and milabench did not write it as such a file: "
        "name another, or add --overwrite"
    )
