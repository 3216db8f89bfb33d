"""Records to JSON and back: the codec of every JSON file and of every protocol message.

A record is a ``msgspec.Struct``, and is checked against its types when it is read. Some have to be
dataclasses: options and runner profiles, whose fields have metadata, and the documents of reports,
which have the fields of several records. The lines of ``.data`` files are not records: milabench
defines their format, and programs may put anything into them.
"""

import json
import math
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import msgspec

from .errors import RunDirError, disk_errors
from .files import read_bytes, replace_file
from .hidden import SECRETS
from .visible import NUMBERS, in_line

T = TypeVar("T")
DEEPEST = 200  # levels of lists and objects in what a program writes
# An escape in JSON: a pair of surrogates, half of one, or any other
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)"
)


def about(text: str, unit: str = "") -> msgspec.Meta:
    """What a field of a record means, and its unit: for ``Annotated``, and so for JSON schemas."""
    meaning = f"{text}, in {unit}" if unit else text
    return msgspec.Meta(description=meaning, extra={"text": text, "unit": unit})


def encode(record: object) -> bytes:
    """A record as one line of JSON, without a newline."""
    try:
        return msgspec.json.encode(record, enc_hook=_encode_other)
    except UnicodeEncodeError:  # a path or an argument with bytes that are not UTF-8
        return json.dumps(_finite(plain(record))).encode()


def plain(record: object) -> object:
    return msgspec.to_builtins(record, enc_hook=_encode_other)


def _finite(value: object) -> object:
    """A value of JSON with null for NaN and infinity, as msgspec writes them."""
    match value:
        case dict():
            return {key: _finite(each) for key, each in value.items()}
        case list() | tuple():
            return [_finite(each) for each in value]
        case float() if not math.isfinite(value):
            return None
    return value


def encode_indented(record: object) -> bytes:
    """A record as JSON for people, with a newline at its end; NaN and infinity are null.

    Invisible characters are escaped, so a reader of the JSON gets the same texts.
    """
    return _seen(_indented(encode(record))) + b"\n"


def decode(data: bytes | str, kind: type[T]) -> T:
    """The record of this type that the JSON holds.

    Raises:
        ValueError: it is not JSON, or not a record of this type; the message names the field.
    """
    record: T = decoder(kind)(data)
    return record


def decoder(kind: Any) -> Callable[[bytes | str], Any]:
    """``decode`` for one type, prepared once for many records."""
    prepared = msgspec.json.Decoder(kind, dec_hook=_decode_other)

    def decode_one(data: bytes | str) -> object:
        try:
            try:
                return prepared.decode(data)
            except msgspec.DecodeError as error:
                if "surrogate" not in str(error):
                    raise
                return convert(json.loads(data), kind)
        except RecursionError as error:
            raise ValueError("it is nested too deeply") from error

    return decode_one


def loads(data: bytes | str) -> Any:
    """The JSON of a line that a program wrote, or may have written.

    Half of a pair of surrogates, which no file and no terminal takes, becomes the text of its
    escape.

    Raises:
        ValueError: it is not JSON, or nested more than ``DEEPEST`` levels deep.
    """
    text = data.decode() if isinstance(data, bytes) else data
    if "\\ud" in text or "\\uD" in text:
        text = _ESCAPE.sub(lambda found: f"\\{found[0]}" if found[1] else found[0], text)
    try:
        value = json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if text.count("[") + text.count("{") > DEEPEST and _is_deep(value):
        raise ValueError("it is nested too deeply")
    return value


def _is_deep(value: object) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        below: list[object] = []
        for each in level:
            if isinstance(each, dict | list):
                below += each.values() if isinstance(each, dict) else each
        level = below
    return bool(level)


def convert(raw: object, kind: type[T]) -> T:
    """The record of this type that decoded JSON holds.

    Raises:
        ValueError: it is not a record of this type; the message names the field.
    """
    return msgspec.convert(raw, kind, dec_hook=_decode_other)


def write_record(path: Path, record: object, *, is_durable: bool = True) -> None:
    """Replace a file atomically: a reader sees the old record or the new one, not a part.

    Its folder is made if it is missing, but not the one above: a run whose folder was moved away
    must not begin anew, without its measurements. ``is_durable`` is as for `replace_file`.

    Raises:
        RunDirError: it cannot be written, for example because the disk is full.
    """
    with disk_errors("write", path):
        path.parent.mkdir(exist_ok=True)
        content = encode_indented(SECRETS.hide_all(plain(record)))
        replace_file(path, content, is_durable=is_durable)


def read_record(path: Path, kind: type[T], prepared: Callable[[bytes], bytes] = bytes) -> T:
    """Read a file that ``write_record`` wrote; ``prepared`` changes its JSON before.

    Raises:
        RunDirError: the file is missing, or is not a record of this type; the message says which.
    """
    try:
        return decode(prepared(read_bytes(path)), kind)
    except (OSError, ValueError) as error:
        refuse(path, error)


def refuse(path: Path, error: OSError | ValueError) -> NoReturn:
    if isinstance(error, OSError):
        raise RunDirError(f"cannot read {path}: {error.strerror}") from error
    raise RunDirError(f"{path} was not written by this version of milabench: {error}") from error


def encode_shown(record: object) -> bytes:
    """A record for a page, without secrets, and with invisible characters as their numbers."""
    return encode(_shown(plain(record)))


def _shown(value: object) -> object:
    match value:
        case str():
            return in_line(SECRETS.hide(value))
        case dict():
            return {key: _shown(each) for key, each in value.items()}
        case list() | tuple() if not set(map(type, value)) <= {int, float, type(None)}:
            return [_shown(each) for each in value]
    return value


def _seen(text: bytes) -> bytes:
    if text.isascii() and b"\x7f" not in text:
        return text
    escaped = [json.dumps(c)[1:-1] if ord(c) in NUMBERS else c for c in text.decode()]
    return "".join(escaped).replace("\x7f", "\\u007f").encode()


def _indented(line: bytes) -> bytes:
    """The JSON, indented for a person; with bytes that are not UTF-8, it stays one line."""
    with suppress(msgspec.DecodeError):
        return msgspec.json.format(line, indent=1)
    return line


def _encode_other(value: object) -> object:
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def _decode_other(kind: type, value: object) -> object:
    if issubclass(kind, Path) and isinstance(value, str):
        return Path(value)
    raise TypeError(f"{kind.__name__} cannot be read from JSON")
