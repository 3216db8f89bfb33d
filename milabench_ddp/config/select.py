"""Which benchmarks run: ``--select`` and ``--exclude``, and every other reason against one."""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePath

from ..errors import SelectionError, did_you_mean
from .benchmark import program_of
from .conditions import evaluate
from .facts import MachineFacts
from .presets import PresetResult
from .tree import Entries, MappingNode, ScalarNode, scalar_text, text_of

# What a user who comes from sbatch may have meant.
_OTHER_OPTION = {"--exclude": " (--exclude-nodes leaves nodes out)"}


@dataclass(frozen=True)
class Selection:
    """The words of ``--select`` and ``--exclude``."""

    select: tuple[str, ...]
    exclude: tuple[str, ...]

    def reason_against(self, name: str, entry: MappingNode) -> str | None:
        """Why the benchmark is left out, None where it is not; without ``--select`` all are in."""
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
    known: set[str] = set()
    for name, entry in entries.items():
        known |= labels(name, entry)
    for option, words in (("--select", select), ("--exclude", exclude)):
        for word in words:
            if not _matches(word, known):
                hint = did_you_mean(word, known) or _OTHER_OPTION.get(option, "")
                raise SelectionError(
                    f"{option} {word}: no benchmark, group or tag of that name{hint}"
                )
    return Selection(select, exclude)


def labels(name: str, entry: MappingNode) -> set[str]:
    """What a benchmark answers to: name, groups, tags, and the basename of its definition.

    A program answers to the folder of its ``main.py``, or else to its own name.
    """
    program = PurePath(entry.text("program"))
    found = {
        name,
        entry.text("group"),
        entry.text("install_group"),
        program.parent.name if program.stem == "main" else program.stem,
        PurePath(entry.text("definition")).name,
    }
    for tag in entry.items("tags"):
        found.add(text_of(tag) or "")
    return found - {""}


def _matches(word: str, found: set[str]) -> bool:
    return word in found or any(fnmatchcase(label, word) for label in found)


def skip_reason(
    name: str, result: PresetResult, selection: Selection, facts: MachineFacts
) -> str | None:
    """The first reason against running the benchmark, in one sentence; None where there is none.

    A benchmark that is disabled runs all the same where ``--select`` gives its exact name.
    Raises ConfigError for a condition outside the grammar.
    """
    entry = result.entry
    reason = selection.reason_against(name, entry)
    if reason is None and name not in selection.select:
        reason = _disabled_reason(result)
    if reason:
        return reason
    if program_of(entry) is None:
        return "has neither a `definition` nor a `program`"
    return _unmet_condition(entry, facts) or _too_few_nodes(entry, facts)


def _disabled_reason(result: PresetResult) -> str | None:
    enabled = result.entry.entries["enabled"]
    if not isinstance(enabled, ScalarNode) or enabled.value is not False:
        return None
    # An override has no line, and wins over a preset.
    by_preset = f" by the preset {result.preset}" if result.disables and enabled.origin.line else ""
    because = result.entry.text("because")
    stated = f": {because}" if because else ""
    return f"disabled{by_preset}{stated} ({enabled.origin})"


def _unmet_condition(entry: MappingNode, facts: MachineFacts) -> str | None:
    for node in entry.items("requires_capabilities"):
        condition = text_of(node) or ""
        result = evaluate(condition, facts, node.origin)
        if not result.holds:
            values = [f"{name} is {scalar_text(value)}" for name, value in result.values.items()]
            but = f", but {', '.join(values)}" if values else ""
            return f"needs {condition}{but} ({node.origin})"
    return None


def _too_few_nodes(entry: MappingNode, facts: MachineFacts) -> str | None:
    needed = entry.get("num_machines")
    if not isinstance(needed, ScalarNode) or not isinstance(needed.value, int):
        return None
    if needed.value <= facts.node_count:
        return None
    there = "is 1" if facts.node_count == 1 else f"are {facts.node_count}"
    return f"needs {needed.value} nodes, but there {there} (num_machines in {needed.origin})"
