"""Mutations of the files of a run: of their bytes, their lines, their JSON, or of what they are."""

import json
import os
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

Draw = random.Random
Spoil = Callable[[Draw, bytes], bytes]

NASTY = (
    *('null', 'true', '""', '[]', '{}', '-1', '0', '1e308', '-1e999', 'NaN', '-Infinity', '1e-320'),
    *('"nan"', '"\\ud800"', '"\\u0000"', '[[1]]', '{"a": {"b": []}}', '[null]', '1.5', '2', '99'),
    *("1" + "0" * 40, "1" + "0" * 400, "1" + "0" * 5000, '"' + "x" * 9000 + '"', '"../../x"'),
    *("[" * 3000 + "]" * 3000, '{"":' * 200 + "1" + "}" * 200, '"ok"', '"running"', '[1, "a"]'),
)  # fmt: skip


def flip(draw: Draw, text: bytes) -> bytes:
    """Some bytes are others."""
    found = bytearray(text)
    for _ in range(draw.choice([1, 1, 5, 50])):
        found[draw.randrange(len(found))] = draw.randrange(256)
    return bytes(found)


def cut(draw: Draw, text: bytes) -> bytes:
    """A part is missing, at the end or elsewhere."""
    begin = draw.randrange(len(text))
    end = draw.choice([len(text), begin + draw.randrange(1, 200)])
    return text[:begin] + text[end:]


def insert(draw: Draw, text: bytes) -> bytes:
    """Something stands in it that does not belong there."""
    place = draw.randrange(len(text))
    odd = draw.choice([b"\0" * 9, b"\n", b"\r", b"\xff\xfe", b"}", b"[" * 100_000, b"\xed\xa0\x80"])
    return text[:place] + odd + text[place:]


def move_lines(draw: Draw, text: bytes) -> bytes:
    """Lines are missing, doubled, swapped, or without an end between them."""
    found = text.splitlines(keepends=True)
    first, second = draw.randrange(len(found)), draw.randrange(len(found))
    match draw.randrange(5):
        case 0:
            del found[first : first + draw.choice([1, 3, 30])]
        case 1:
            found[first:first] = found[first : first + draw.choice([1, 3, 300])]
        case 2:
            found[first], found[second] = found[second], found[first]
        case 3:
            found[first] = found[first].rstrip(b"\n")
        case _:
            draw.shuffle(found)
    return b"".join(found)


def encode(draw: Draw, text: bytes) -> bytes:
    """It is of another encoding, or has other ends of lines."""
    match draw.randrange(4):
        case 0:
            return text.decode().encode(draw.choice(["utf-16", "utf-32", "utf-16-le"]))
        case 1:
            return text.replace(b"\n", draw.choice([b"\r\n", b"\r", b"\n\n", b"\x85"]))
        case 2:
            return b"\xef\xbb\xbf" + text
    return text.translate(bytes(range(128)) + bytes(range(128)))[::-1]


def retype(draw: Draw, text: bytes) -> bytes:
    """Values of JSON are others, or their keys are."""
    found = text.splitlines(keepends=True)
    if text[:2] == b"{\n":  # a state, which is one object
        found = [text]
    for _ in range(draw.choice([1, 1, 3, 20])):
        place = draw.randrange(len(found))
        with suppress(ValueError, RecursionError):
            entry = json.loads(found[place])
            marks = _spoil(draw, entry)
            line = json.dumps(entry)
            for mark, value in marks.items():
                line = line.replace(json.dumps(mark), value)
            found[place] = line.encode() + b"\n"
    return b"".join(found)


def _spoil(draw: Draw, value: object) -> dict[str, str]:
    """Change something deep in a value of JSON; returns the texts to be put in place of marks."""
    while isinstance(value, dict | list) and value:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = draw.choice(keys)
        inner = value[key]
        if isinstance(inner, dict | list) and inner and draw.random() < 0.8:
            value = inner
            continue
        match draw.randrange(6):
            case 0:
                del value[key]
            case 1 if isinstance(value, dict):
                value[draw.choice(["rank", "rate", "time", "schema", "", "\0", "x"])] = value.pop(
                    key
                )
            case 2 if isinstance(value, list):
                value *= draw.choice([0, 2, 100])
            case _:
                value[key] = "@0@"
                return {"@0@": draw.choice(NASTY)}
        return {}
    return {}


SPOILS: Sequence[Spoil] = (flip, cut, insert, move_lines, encode, retype, retype, retype)


def replace(draw: Draw, path: Path) -> str:
    """Put something else in place of a file; returns what, if a report must tell that."""
    kind = draw.choice(
        ["empty", "gone", "folder", "loop", "broken link", "fifo", "link to a folder"]
    )
    path.unlink()
    match kind:
        case "empty":
            path.write_bytes(b"")
        case "folder":
            path.mkdir()
        case "loop":
            path.symlink_to(path.name)
        case "broken link":
            path.symlink_to("nowhere")
        case "fifo":
            os.mkfifo(path)
        case "link to a folder":
            path.symlink_to(".")
    return kind


@dataclass(frozen=True)
class Broken:
    """What was done to a run."""

    files: tuple[str, ...]  # those that were broken
    replaced: tuple[str, ...]  # those that are now empty, gone or not files
    gone: tuple[str, ...]  # those of them that were removed
    said: str


def break_run(draw: Draw, run: Path) -> Broken:
    """Break one to three files of a run."""
    files = [path for path in sorted(run.rglob("*")) if path.is_file() and path.name != ".alive"]
    chosen = draw.sample(files, min(len(files), draw.choice([1, 1, 1, 2, 3])))
    replaced, gone, said = [], [], []
    for path in chosen:
        name = str(path.relative_to(run))
        text = path.read_bytes()
        if draw.random() < 0.15 or not text:
            kind = replace(draw, path)
            said.append(f"{name}: {kind}")
            replaced.append(name)
            if kind == "gone":
                gone.append(name)
            continue
        spoil = draw.choice(SPOILS)
        with suppress(UnicodeDecodeError):
            path.write_bytes(spoil(draw, text))
        said.append(f"{name}: {spoil.__name__}")
    names = [str(path.relative_to(run)) for path in chosen]
    return Broken(tuple(names), tuple(replaced), tuple(gone), "; ".join(said))
