"""Keeps what was read of a large result file in a table beside the run, to read it but once.

A table is a file ``<run>/.report/<tag>.table``: the record without its columns, then the columns,
which a report loads when it needs them, and not all at once. It is believed only while its result
file is the one that was read (size, times, inode), the sources of this package are those that read
it, and its checksum holds; else it is made anew. Nothing is lost with it.
"""

import mmap
import os
import zlib
from array import array
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, get_origin

import msgspec
from msgspec.structs import replace

from ..files import new_file, open_file
from .columns import WORD, Doubles, Kept, LazySequence
from .records import Record
from .seen_lines import SeenLines

_MAGIC = b"milabench table\n"
_BEGIN = len(_MAGIC) + 2 * WORD  # of the record, after its length and the checksum
_BLOCK = 2**22  # bytes


def fingerprint(path: Path) -> str:
    """What a result file is, and what reads it; empty if it cannot be read."""
    try:
        stat = path.stat()
    except OSError:
        return ""
    known = stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino
    return " ".join(map(str, (_reader(), *known)))


@cache
def _reader() -> str:
    """A digest of the sources by which a result file becomes a record."""
    from hashlib import blake2b  # takes 3 ms, and a run of few lines keeps no table

    digest = blake2b(digest_size=16)
    sources = [*Path(__file__).parent.glob("*.py"), Path(__file__).parents[1] / "samples.py"]
    for source in sorted(sources):
        digest.update(source.read_bytes())
    return digest.hexdigest()


def save_table(table: Path, record: Record, source: str) -> None:
    """Keep a record in a table, which is there at once or not at all.

    Raises:
        OSError: it cannot be written.
        ValueError: it holds what a table cannot, such as an integer of 100 digits.
    """
    columns: list[Any] = []  # arrays
    try:
        head = msgspec.msgpack.encode([source, record], enc_hook=_encoder(columns))
    except OverflowError as error:
        raise ValueError(str(error)) from error
    temporary = table.with_name(f".{table.name}.{os.getpid()}")
    try:
        temporary.unlink(missing_ok=True)
        with os.fdopen(new_file(temporary), "wb") as out:
            out.write(bytes(_BEGIN))
            crc = 0
            for part in (head, bytes(-len(head) % WORD), *columns):
                out.write(part)
                crc = zlib.crc32(part, crc)
            out.seek(0)
            out.write(_MAGIC + len(head).to_bytes(WORD) + crc.to_bytes(WORD))
            out.flush()
            os.fsync(out.fileno())
        temporary.replace(table)
    except OSError:
        with suppress(OSError):
            temporary.unlink()
        raise


def load_table(table: Path, path: Path) -> Record | None:
    """The record of a result file from its table; None unless the table holds just that."""
    try:
        with open_file(table) as file:
            held = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):  # an empty file cannot be mapped
        return None
    size, crc = (int.from_bytes(held[_BEGIN - k * WORD :][:WORD]) for k in (2, 1))
    if held[: len(_MAGIC)] != _MAGIC or size > len(held) or _crc(held) != crc:
        return None
    columns = _BEGIN + size + -size % WORD
    decoder = msgspec.msgpack.Decoder(tuple[str, Record], dec_hook=_decoder(held, columns))
    try:
        source, record = decoder.decode(memoryview(held)[_BEGIN : _BEGIN + size])
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    if source != fingerprint(path):
        return None
    record.path = path
    record.defects = [replace(defect, path=path) for defect in record.defects]
    return record


def _crc(held: mmap.mmap) -> int:
    crc = 0
    for k in range(_BEGIN, len(held), _BLOCK):
        crc = zlib.crc32(held[k : k + _BLOCK], crc)
    held.madvise(mmap.MADV_DONTNEED)
    return crc


def _encoder(columns: list[Any]) -> Callable[[object], object]:
    """What stands in a table for what is not JSON; what columns hold goes into ``columns``."""

    def encode(value: object) -> object:
        match value:
            case Path():
                return str(value)
            case array():
                return [value.typecode, value.tobytes()]
            case Doubles():
                first, slope, count, own = value.state
                if not isinstance(own, array):
                    return [first, slope, count, -1]
                columns.append(own)
                return [first, slope, count, WORD * sum(map(len, columns[:-1]))]
            case LazySequence():
                return vars(value)
            case SeenLines():
                return None  # of use only while the file is read
        raise ValueError(f"{type(value).__name__} has no place in a table")

    return encode


def _decoder(held: mmap.mmap, columns: int) -> Callable[[type, Any], object]:
    """The inverse of ``_encoder``, for a table whose columns begin at a place."""

    def like(made: object, value: Any) -> object:
        match made:
            case Doubles():
                first, slope, count, place = value
                if place < 0:
                    return Doubles((first, slope, count, None))
                if columns + place + WORD * count > len(held):
                    raise ValueError("a column is cut off")
                return Doubles((first, slope, count, Kept(held, columns + place, count)))
            case LazySequence():
                for name, inner in vars(made).items():
                    setattr(made, name, like(inner, value[name]))
                return made
            case dict() if made:
                return {name: like(inner, value[name]) for name, inner in made.items()}
        return value

    def decode(kind: type, value: Any) -> object:
        kind = get_origin(kind) or kind
        if kind is array:
            typecode, numbers = value
            return array(typecode, numbers)
        if issubclass(kind, LazySequence):
            return like(kind(), value)
        return SeenLines() if kind is SeenLines else kind(value)  # Path, Counter

    return decode
