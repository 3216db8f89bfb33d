"""What the source of a program says, without running it: its options, and what can be probed.

The texts are searched, not parsed: a word that stands in a comment counts as being there.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from msgspec import Struct

from .limited import read_limited
from .shipped import shipped_root

_MOST = 2**20  # bytes
_OPTION = re.compile(r"""["'](--?[A-Za-z][\w-]*)["']""")
_PARSER = re.compile(r"(\w+) = (?:argparse\.)?ArgumentParser\(")
# With these a parser, whose name comes last, takes options that its file does not show.
_OPEN = (
    r"add_subparsers|parse_known|parents=|prefix_chars=|add_argument\((?!\s*[\"'])"
    r"|\b{}\b(?! =|\.)"
)
_IMPORT = re.compile(r"^from (benchmarks[\w.]*) import (?:\(([^)]*)\)|(.*))", re.MULTILINE)
_NAMED = re.compile(r"(?:\bdef|\bclass|\bimport)\s+(\([^)]*\)|.*(?=\()|.*)")
_WORD = re.compile(r"\w+")
_PROBE = re.compile(r"""\.probe\(\s*["'](//(\w+)(?:\s*>\s*(\w+))?[^"']*)["']""")


def _text(path: Path) -> str:
    try:
        return read_limited(path, _MOST).decode(errors="replace")
    except OSError:
        return ""


@cache  # many benchmarks have one program
def options_of(program: Path) -> frozenset[str]:
    """The options that a program may have; none if its source does not show which it takes.

    Those of a shipped program are in the modules that it imports, too.
    """
    root = shipped_root()
    if program.is_relative_to(root / "benchmarks"):
        return frozenset(_OPTION.findall("".join(_with_imports(program, root, set())))) | {"--help"}
    text = _text(program)
    made = _PARSER.search(text)
    if made is None or re.search(_OPEN.format(made[1]), text):
        return frozenset()
    return frozenset(_OPTION.findall(text)) | {"--help"}


def _with_imports(path: Path, root: Path, seen: set[Path]) -> Iterator[str]:
    seen.add(path)
    text = _text(path)
    if "argparse" not in text:
        return
    yield text
    for module, listed, line in _IMPORT.findall(text):
        folder = root / module.replace(".", "/")
        names = [f"{name}.py" for name in _WORD.findall(listed or line)]
        for found in (folder.with_suffix(".py"), *map(folder.joinpath, ["__init__.py", *names])):
            if found not in seen:
                yield from _with_imports(found, root, seen)


class Probe(Struct, frozen=True):
    """What a voirfile probes in the script: ``//function > variable``."""

    text: str
    function: str
    variable: str  # empty without one
    line: int
    column: int


def probes_of(voirfile: Path) -> Iterator[Probe]:
    """The probes of functions of the script that a voirfile states."""
    text = _text(voirfile)
    for found in _PROBE.finditer(text):
        before = text[: found.start(1)]
        column = len(before) - before.rfind("\n")
        yield Probe(found[1], found[2], found[3] or "", before.count("\n") + 1, column)


def functions_of(script: Path) -> frozenset[str]:
    """The functions and classes that a script defines or imports."""
    return frozenset(name for line in _NAMED.findall(_text(script)) for name in _WORD.findall(line))


def words_of(script: Path) -> frozenset[str]:
    """All words of a script, so its variables, too."""
    return frozenset(_WORD.findall(_text(script)))
