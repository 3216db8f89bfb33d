"""``--select`` and ``--exclude``: which benchmarks are meant."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePath

from ..errors import SelectionError, did_you_mean
from .tree import Items, Leaf, Table

# What somebody who comes from sbatch may have meant.
_ELSE = {"--exclude": " (--exclude-nodes leaves nodes out)"}


@dataclass(frozen=True)
class Selection:
    """The words of ``--select`` and ``--exclude``."""

    select: tuple[str, ...]
    exclude: tuple[str, ...]

    def selects(self, name: str, entry: Table) -> bool:
        """Whether the benchmark is asked for; without ``--select`` every one is."""
        return not self.select or _any_matches(self.select, labels(name, entry))

    def excludes(self, name: str, entry: Table) -> bool:
        """Whether the benchmark is to be left out."""
        return _any_matches(self.exclude, labels(name, entry))

    def insists(self, name: str) -> bool:
        """Whether the benchmark is selected by its very name, which wins over ``enabled``."""
        return name in self.select


def parse_selection(
    select: Iterable[str], exclude: Iterable[str], entries: Mapping[str, Table]
) -> Selection:
    """Split the words at commas; raises SelectionError for one that matches nothing."""
    known = {label for name, entry in entries.items() for label in labels(name, entry)}
    return Selection(_words("--select", select, known), _words("--exclude", exclude, known))


def labels(name: str, entry: Table) -> set[str]:
    """What a benchmark answers to: name, groups, tags, and the basename of its definition.

    A program answers to the folder of its ``main.py``, or else to its own name.
    """
    found = {name}
    for key in ("group", "install_group"):
        found.add(_text(entry, key))
    tags = entry.entries.get("tags")
    if isinstance(tags, Items):
        found.update(str(tag.value) for tag in tags.items if isinstance(tag, Leaf))
    program = PurePath(_text(entry, "program"))
    found.add(program.parent.name if program.stem == "main" else program.stem)
    found.add(PurePath(_text(entry, "definition")).name)
    return found - {""}


def _text(entry: Table, key: str) -> str:
    node = entry.entries.get(key)
    return node.value if isinstance(node, Leaf) and isinstance(node.value, str) else ""


def _any_matches(words: Iterable[str], found: set[str]) -> bool:
    return any(word in found or any(fnmatchcase(f, word) for f in found) for word in words)


def _words(option: str, given: Iterable[str], known: set[str]) -> tuple[str, ...]:
    words = tuple(w for text in given for part in text.split(",") if (w := part.strip()))
    for word in words:
        if not _any_matches((word,), known):
            raise SelectionError(
                f"{option} {word}: no benchmark, group or tag of that name"
                f"{did_you_mean(word, known) or _ELSE.get(option, '')}"
            )
    return words
