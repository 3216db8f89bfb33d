"""What the source of a program says, without running it: its options, and what can be probed.

The texts are searched, not parsed: a word that stands in a comment counts as being there.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from .limited import read_limited
from .shipped import shipped_root
from .tree import Origin

_MOST = 2**20  # bytes
_OPTION = re.compile(r"""["'](--?[A-Za-z][\w-]*)["']""")
_PARSER = re.compile(
    r"^import argparse\b(?:.|\n)*?^ *\w+ = argparse\.ArgumentParser\("
    r"|^from argparse import .*\bArgumentParser\b(?:.|\n)*?^ *\w+ = ArgumentParser\(",
    re.MULTILINE,
)
_MADE = re.compile(
    r"(\w+) = (?:(?:argparse\.)?ArgumentParser|\w+\.add_(?:argument|mutually_exclusive)_group)\("
)
_FILLED = re.compile(r"(\w+)\.add_argument\(")
# With these a parser takes options that its file does not show.
_OPEN = re.compile(
    r"sys\.argv|import argv|parse_known|parents=|prefix_chars=|REMAINDER|nargs=[\"']\.\.\."
    r"|\.add_(?!argument\(|argument_group\(|mutually_exclusive_group\()"
    r"|add_argument\((?!\s*[\"'][^\"']*[\"']\s*[,)])"
)
_IMPORT = re.compile(r"^from (benchmarks[\w.]*) import (?:\(([^)]*)\)|(.*))", re.MULTILINE)
_NAMED = re.compile(r"(?:\bdef|\bclass|\bimport)\s+(\([^)]*\)|.*(?=\()|.*)")
_WORD = re.compile(r"\w+")
_PROBE = re.compile(r"""\.probe\(\s*["'](//(\w+)(?:\s*>\s*(\w+))?[^"']*)["']""")


def source_of(path: Path) -> str:
    """The text of a file; empty if it is not there, or cannot be read."""
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
    text = source_of(program)
    made = set(_MADE.findall(text))
    if not _PARSER.search(text) or _OPEN.search(text) or not made.issuperset(_FILLED.findall(text)):
        return frozenset()
    for name in made:
        if re.search(rf"\b{name}\b(?! =|\.)", text):  # another function may add options to it
            return frozenset()
    return frozenset(_OPTION.findall(text)) | {"--help"}


def _with_imports(path: Path, root: Path, seen: set[Path]) -> Iterator[str]:
    seen.add(path)
    text = source_of(path)
    if "argparse" not in text:
        return
    yield text
    for module, listed, line in _IMPORT.findall(text):
        folder = root / module.replace(".", "/")
        names = [f"{name}.py" for name in _WORD.findall(listed or line)]
        for found in (folder.with_suffix(".py"), *map(folder.joinpath, ["__init__.py", *names])):
            if found not in seen:
                yield from _with_imports(found, root, seen)


def probes_of(voirfile: Path) -> Iterator[tuple[Origin, str, str, str]]:
    """The probes ``//function > variable`` of a voirfile: the place, the text, and both names.

    Without a plain variable, its name is empty.
    """
    text = source_of(voirfile)
    for found in _PROBE.finditer(text):
        before = text[: found.start(1)]
        place = Origin(str(voirfile), before.count("\n") + 1, len(before) - before.rfind("\n"))
        yield place, found[1], found[2], found[3] or ""


def functions_of(script: Path) -> frozenset[str]:
    named = " ".join(_NAMED.findall(source_of(script)))
    return frozenset(_WORD.findall(named))


def words_of(script: Path) -> frozenset[str]:
    """All words of a script, so its variables, too."""
    return frozenset(_WORD.findall(source_of(script)))
