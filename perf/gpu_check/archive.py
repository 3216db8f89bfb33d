"""Everything that was measured, in one file that is small enough to come back."""

import io
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path

LARGEST = 5_000_000  # bytes of the archive
END = 64 * 2**10  # bytes of a log or an output that are kept
HEADER = 512  # bytes of a file in a tar, before it is packed
LEFT_OUT = "left_out.txt"


def pack(folder: Path, target: Path) -> None:
    """Replace ``target`` by an archive of the runs, the ends of logs, and what has been done.

    What would make it larger than ``LARGEST`` is left out, large files first, and named in
    ``LEFT_OUT``.
    """
    room, left_out = LARGEST - END, []
    part = target.with_name(f".{target.name}.part")
    with tarfile.open(part, "w:gz") as tar:
        for path in sorted(_files(folder), key=lambda path: path.stat().st_size):
            content = _end(path)
            name = str(path.relative_to(folder))
            size = len(zlib.compress(content)) + HEADER
            if size > room:
                left_out.append(f"{name}: {len(content)} bytes")
                continue
            room -= size
            _add(tar, name, content)
        if left_out:
            _add(tar, LEFT_OUT, "\n".join(left_out).encode()[:END])
    part.replace(target)


def _files(folder: Path) -> Iterator[Path]:
    yield from folder.glob("*.json")
    for name in ("logs", "runs"):
        for path in (folder / name).rglob("*"):
            if path.is_file() and path.name != ".reserve":
                yield path


def _end(path: Path) -> bytes:
    """What is kept of a file: all of records, the end of what programs printed."""
    with path.open("rb") as file:
        if path.suffix in (".log", ".stdout", ".stderr"):
            file.seek(max(path.stat().st_size - END, 0))
        return file.read()


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    tar.addfile(info, io.BytesIO(content))
