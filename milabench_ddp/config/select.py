"""Which benchmarks run, and what they may be called: a name is that of files, and begins tags."""

import fnmatch
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath

from msgspec import Struct

from ..errors import ConfigError, SelectionError, did_you_mean, shortened
from .benchfile import program_of
from .conditions import MachineFacts, evaluate
from .mistakes import Apart, MistakeError, keep
from .presets import PresetResult
from .schema import NAME, Benchmark, SkipKind, SkippedBenchmark
from .tree import Entries, MappingNode, scalar_text, text_of

# The option that a user of sbatch may have meant.
_OTHER_OPTION = {"--exclude": " (--exclude-nodes leaves nodes out)"}


class Selection(Struct, frozen=True):
    """The words of ``--select`` and ``--exclude``, and the benchmarks that they take."""

    select: tuple[str, ...]
    selected: frozenset[str]
    excluded: frozenset[str]

    def reason_against(self, name: str) -> str | None:
        """Why the benchmark is left out, or None; without ``--select``, all are selected."""
        if name in self.excluded:
            return "excluded by --exclude"
        if self.select and name not in self.selected:
            return "not selected by --select"
        return None


def parse_selection(
    select: tuple[str, ...], exclude: tuple[str, ...], entries: Entries, *, is_final: bool = True
) -> Selection:
    """The benchmarks that the words take.

    Raises SelectionError for a word that takes none, unless ``is_final`` is false: then groups and
    tags may still have to be resolved.
    """
    known = {name: labels(entry) for name, entry in entries.items()}
    taken: dict[str, frozenset[str]] = {}
    for option, words in (("--select", select), ("--exclude", exclude)):
        found: set[str] = set()
        for word in words:
            matched = _matched(word, known)
            if is_final and not matched:
                keep(SelectionError(f"{option} {word}: {_why_none(option, word, known)}"))
            found |= matched
        taken[option] = frozenset(found)
    return Selection(select, taken["--select"], taken["--exclude"])


def labels(entry: MappingNode) -> set[str]:
    """The words that select a benchmark beside its name: its groups, tags and definition.

    Its program counts, too: by the folder of its ``main.py``, or else by its own name.
    """
    program = PurePath(entry.text("program"))
    found = {
        entry.text("group"),
        entry.text("install_group"),
        program.parent.name if program.stem == "main" else program.stem,
        PurePath(entry.text("definition")).name,
    }
    found.update(text_of(tag) or "" for tag in entry.items("tags"))
    return found - {""}


def _matched(word: str, known: Mapping[str, set[str]]) -> set[str]:
    """The benchmarks of a name, else of a glob, else of a label, which ``@`` always stands for."""
    if word in known:
        return {word}
    if not word.startswith("@") and (found := fnmatch.filter(known, word)):
        return set(found)
    label = word.removeprefix("@")
    return {name for name, has in known.items() if label in has or fnmatch.filter(has, label)}


def _why_none(option: str, word: str, known: Mapping[str, set[str]]) -> str:
    groups = {label for has in known.values() for label in has}
    if word.startswith("@"):
        hint = did_you_mean(word, {f"@{label}" for label in groups})
        return f"no group or tag of that name{hint}"
    hint = did_you_mean(word, known.keys() | groups) or _OTHER_OPTION.get(option, "")
    return f"no benchmark, group or tag of that name{hint}"


def skipped_benchmark(
    name: str,
    result: PresetResult,
    selection: Selection,
    facts: MachineFacts,
) -> SkippedBenchmark | None:
    """The benchmark with the first reason to skip it; None if it runs where its program is.

    A disabled benchmark runs if ``--select`` gives its exact name.
    """
    entry = result.entry
    reason = selection.reason_against(name)
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


def check_conditions(entry: MappingNode, facts: MachineFacts) -> None:
    """Raise ConfigError for conditions outside the grammar, also where it is disabled."""
    for node in entry.items("requires_capabilities"):
        with Apart():
            evaluate(text_of(node) or "true", facts, node.origin)


def _unmet_condition(entry: MappingNode, facts: MachineFacts) -> str:
    needed = entry.scalar("num_machines")
    for node in entry.items("requires_capabilities"):
        condition = text_of(node) or ""
        nodes = needed if isinstance(needed, int) else None
        result = evaluate(condition, facts, node.origin, nodes)
        if not result.holds:
            values = [f"{name} is {scalar_text(value)}" for name, value in result.values.items()]
            but = f", but {', '.join(values)}" if values else ""
            return f"needs {condition}{but} ({node.origin})"
    if not isinstance(needed, int) or needed <= facts.node_count:
        return ""
    there = "is 1" if facts.node_count == 1 else f"are {facts.node_count}"
    origin = entry.entries["num_machines"].origin
    return f"needs {needed} nodes, but there {there} (num_machines in {origin})"


LONGEST_NAME = 150  # bytes; a file is named by it, a node, a process, and may have 255
# What else is in a run folder, beside the folder of each benchmark.
_TAKEN = {"evidence", "nodes", "submitit", "traces"}
_SUFFIXES = (".data", ".html", ".json", ".stacks", ".stderr", ".stdout")


# What follows the name of a benchmark in the tags of its processes: a repeat, a device or a job.
_IN_TAG = re.compile(r"[RD]\d+|(?P<job>0|[1-9]\d{0,8})", re.IGNORECASE)


def check_names(entries: Entries) -> None:
    known: dict[str, str] = {}
    for name, entry in entries.items():
        with Apart():
            if why := why_no_name(name):
                raise MistakeError(
                    f"`{shortened(name, 80)}` in {entry.origin} cannot name a benchmark: {why}",
                    entry.origin,
                    name,
                )
            other = known.setdefault(name.casefold(), name)
            if other != name:
                raise MistakeError(
                    f"`{name}` in {entry.origin} and `{other}` in {entries[other].origin} differ "
                    "in upper and lower case alone, which some disks do not tell apart: rename one",
                    entry.origin,
                    name,
                )


def why_no_name(name: str) -> str:
    """Why it cannot be part of a file name, or cannot be selected; empty if it can."""
    if not NAME.fullmatch(name):
        return "a name is letters, digits and any of `_ . + = @ -`, a letter, digit or `_` first"
    if name.casefold() in _TAKEN or name.casefold().endswith(_SUFFIXES):
        return "a file of a run may have this name: choose another"
    size = len(name.encode())
    if size > LONGEST_NAME:
        return f"a name has at most {LONGEST_NAME} bytes, this one has {size}"
    return ""


def check_tags(benchmarks: Sequence[Benchmark]) -> None:
    """Raise ConfigError for a name that is a tag of another benchmark's process, or begins so.

    A file ``b.0.D0.data`` could belong to ``b`` or to ``b.0``.
    """
    known = {benchmark.name.casefold(): benchmark for benchmark in benchmarks}
    for benchmark in benchmarks:
        words = benchmark.name.casefold().split(".")
        for count in range(1, len(words)):
            other = known.get(".".join(words[:count]))
            found = _IN_TAG.fullmatch(words[count])
            if other is None or found is None:
                continue
            if found["job"] is None or int(words[count]) < other.plan.jobs:
                raise ConfigError(
                    f"`{benchmark.name}` cannot name a benchmark beside `{other.name}`, of which a "
                    "process may have this name: rename one"
                )
