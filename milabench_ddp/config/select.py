"""Which benchmarks run: ``--select``, ``--exclude``, and every other reason to skip one."""

import fnmatch
from pathlib import PurePath

from msgspec import Struct

from ..errors import SelectionError, did_you_mean
from .benchfile import program_of
from .conditions import MachineFacts, evaluate
from .presets import PresetResult
from .schema import SkipKind, SkippedBenchmark
from .tree import Entries, MappingNode, scalar_text, text_of

# The option that a user of sbatch may have meant.
_OTHER_OPTION = {"--exclude": " (--exclude-nodes leaves nodes out)"}


class Selection(Struct, frozen=True):
    """The words of ``--select`` and ``--exclude``."""

    select: tuple[str, ...]
    exclude: tuple[str, ...]

    def reason_against(self, name: str, entry: MappingNode) -> str | None:
        """Why the benchmark is left out, or None; without ``--select``, all are selected."""
        found = labels(name, entry)
        if any(_matches(word, found) for word in self.exclude):
            return "excluded by --exclude"
        if self.select and not any(_matches(word, found) for word in self.select):
            return "not selected by --select"
        return None


def parse_selection(
    select: tuple[str, ...], exclude: tuple[str, ...], entries: Entries
) -> Selection:
    """The selection; raises SelectionError for a word that matches nothing."""
    known = set().union(*(labels(name, entry) for name, entry in entries.items()))
    for option, words in (("--select", select), ("--exclude", exclude)):
        for word in words:
            if not _matches(word, known):
                hint = did_you_mean(word, known) or _OTHER_OPTION.get(option, "")
                raise SelectionError(
                    f"{option} {word}: no benchmark, group or tag of that name{hint}"
                )
    return Selection(select, exclude)


def labels(name: str, entry: MappingNode) -> set[str]:
    """The words that select a benchmark: name, groups, tags, and the basename of its definition.

    Its program counts, too: by the folder of its ``main.py``, or else by its own name.
    """
    program = PurePath(entry.text("program"))
    found = {
        name,
        entry.text("group"),
        entry.text("install_group"),
        program.parent.name if program.stem == "main" else program.stem,
        PurePath(entry.text("definition")).name,
    }
    found.update(text_of(tag) or "" for tag in entry.items("tags"))
    return found - {""}


def _matches(word: str, found: set[str]) -> bool:
    return word in found or bool(fnmatch.filter(found, word))


def skipped_benchmark(
    name: str,
    result: PresetResult,
    selection: Selection,
    facts: MachineFacts,
) -> SkippedBenchmark | None:
    """The benchmark with the first reason to skip it; None if it runs where its program is.

    A disabled benchmark runs if ``--select`` gives its exact name.

    Raises ConfigError for a condition outside the grammar.
    """
    entry = result.entry
    reason = selection.reason_against(name, entry)
    if reason:
        return SkippedBenchmark(name, reason, SkipKind.LEFT_OUT)
    if entry.scalar("enabled") is False and name not in selection.select:
        origin = entry.entries["enabled"].origin
        reason = "disabled"
        if result.disables and origin.line:  # an override has no line, and wins over a preset
            reason += f" by the preset {result.preset}"
        because = entry.text("because")
        if because:
            reason += f": {because}"
        kind = SkipKind.DISABLED if origin.line else SkipKind.LEFT_OUT
        return SkippedBenchmark(name, f"{reason} ({origin})", kind)
    reason = "has neither a `definition` nor a `program`"
    if program_of(entry) is not None:
        reason = _unmet_condition(entry, facts)
    return SkippedBenchmark(name, reason) if reason else None


def _unmet_condition(entry: MappingNode, facts: MachineFacts) -> str:
    """The first condition of a benchmark that the machine does not meet; empty without one."""
    for node in entry.items("requires_capabilities"):
        condition = text_of(node) or ""
        result = evaluate(condition, facts, node.origin)
        if not result.holds:
            values = [f"{name} is {scalar_text(value)}" for name, value in result.values.items()]
            but = f", but {', '.join(values)}" if values else ""
            return f"needs {condition}{but} ({node.origin})"
    needed = entry.scalar("num_machines")
    if not isinstance(needed, int) or needed <= facts.node_count:
        return ""
    there = "is 1" if facts.node_count == 1 else f"are {facts.node_count}"
    origin = entry.entries["num_machines"].origin
    return f"needs {needed} nodes, but there {there} (num_machines in {origin})"
