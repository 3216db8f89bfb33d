"""``{name}`` in text, and the run-time placeholders: facts of the machine, folders of a run.

Only a name in braces is a placeholder. ``{{name}}`` stands for ``{name}``; ``${name}`` belongs to
the interpolation; every other brace (``{}``, a lone one, JSON) stays as it is.
"""

import re
from collections.abc import Mapping

from msgspec import Struct

from ..errors import ConfigError, did_you_mean
from ..machine.backends import BACKENDS
from .benchfile import program_of
from .conditions import MachineFacts
from .shipped import shipped_root
from .sizing import Sizer, SizingOptions
from .tree import Entries, ListNode, MappingNode, Origin, Scalar, ScalarNode, TreeNode, scalar_text
from .words import LONGEST_WORD

_PLACEHOLDER = re.compile(r"\{\{([A-Za-z_][\w.-]*)\}\}|(?<!\$)\{([A-Za-z_][\w.-]*)\}")
# A form is a whole argument, or the rest of one that begins with `word=`: batch=auto_batch(8).
_FORM = re.compile(
    r"(?P<before>[\w.-]+=)?"
    r"(?:auto\((?P<sized>[^,()]*),(?P<unsized>[^,()]*)\)|auto_batch\((?P<batch>[^,()]*)\))"
)
Values = Mapping[str, Scalar]  # by the names of the placeholders

_FILLED = ("argv", "env", "voir")


def names_in(text: str) -> list[str]:
    """The names of the placeholders in ``text``, in order."""
    return [found[2] for found in _PLACEHOLDER.finditer(text) if found[2]]


def only_name(text: str) -> str | None:
    """The name, if ``text`` is exactly one placeholder; else None."""
    found = _PLACEHOLDER.fullmatch(text)
    return found[2] if found else None


def fill(text: str, values: Values, origin: Origin, *, is_last: bool) -> str:
    """Replace each placeholder by its value.

    Only the last pass turns ``{{name}}`` into ``{name}``, and raises ConfigError for an unknown
    placeholder; earlier passes leave both as they are.
    """

    def replacement(found: re.Match[str]) -> str:
        escaped, name = found.groups()
        if name in values:
            return scalar_text(values[name])
        if not is_last:
            return found[0]
        if escaped:
            return f"{{{escaped}}}"
        hint = did_you_mean(name, values)
        raise ConfigError(f"unknown placeholder `{found[0]}` in {origin}{hint}")

    filled = _PLACEHOLDER.sub(replacement, text)
    if len(filled) > max(LONGEST_WORD, len(text)):
        raise ConfigError(f"the placeholders in {origin} make a text of {len(filled):,} characters")
    return filled


def fill_all(entries: Entries, facts: MachineFacts, options: SizingOptions) -> Entries:
    """Fill in the argv, env and voir of every benchmark.

    Raises ConfigError for a placeholder that is not known, and for a malformed scaling file.
    """
    sizer = Sizer(options.sizer, facts)
    machine = _machine_values(facts, options)
    filled = {}
    for name, entry in entries.items():
        values = {**machine, **_own_values(name, entry, facts)}
        filler = Filler(name, values, options.cpu.auto, sizer)
        changes = {}
        for key in _FILLED:
            if key in entry.entries:
                changes[key] = filler.fill(entry.entries[key])
        filled[name] = entry.with_entries(changes)
    return filled


def _machine_values(facts: MachineFacts, options: SizingOptions) -> Values:
    base = facts.base
    return {
        "arch": facts.arch,
        "benchmark_folder": str(shipped_root() / "benchmarks"),
        "ccl": facts.ccl,
        "cpu_count": facts.cpu_count,
        "cpu_per_gpu": facts.cpu_per_gpu,
        "device_name": BACKENDS[facts.arch].torch_device,
        "gpu_count": facts.gpu_count,
        "milabench_base": str(base),
        "milabench_cache": str(base / "cache"),
        "milabench_data": str(base / "data"),
        "milabench_runs": str(base / "runs"),
        "n_worker": options.cpu.workers(facts),
    }


def _own_values(name: str, entry: MappingNode, facts: MachineFacts) -> Values:
    program = program_of(entry)
    return {
        "milabench_code": entry.text("definition")
        or (str(program.parent) if program else "{milabench_code}"),
        "milabench_extra": str(facts.base / "extra" / entry.text("group")),
        "milabench_name": name,
        "milabench_venv": str(facts.base / "venv" / entry.text("install_group")),
    }


class Filler(Struct, frozen=True):
    """Fills in the placeholders, ``auto()`` and ``auto_batch()`` of one benchmark."""

    name: str
    values: Values
    auto: int  # whether CPU sizing is on
    sizer: Sizer

    def fill(self, node: TreeNode) -> TreeNode:
        """The tree with every placeholder resolved, in keys too; the tree must be final.

        A value that is exactly one placeholder keeps its type. Raises ConfigError for a
        placeholder that is not known.
        """
        match node:
            case ScalarNode(value=str(text)):
                return ScalarNode(self._value(text, node.origin), node.origin)
            case ListNode():
                return ListNode(tuple(self.fill(item) for item in node.items), node.origin)
            case MappingNode():
                entries = {}
                for key, value in node.entries.items():
                    entries[self._text(key, value.origin)] = self.fill(value)
                return MappingNode(entries, node.origin)
            case _:
                return node

    def _value(self, text: str, origin: Origin) -> Scalar:
        name = only_name(text)
        if name is not None and name in self.values:
            return self.values[name]
        filled = self._text(text, origin)
        return _number(filled) if _FORM.fullmatch(text) else filled

    def _text(self, text: str, origin: Origin) -> str:
        # Look for a form in the text of the file, not in a value that was filled in.
        form = _FORM.fullmatch(text)
        if form is None:
            return fill(text, self.values, origin, is_last=True)
        sized = "sized" if self.auto else "unsized"
        stated = form["batch"] if form["batch"] is not None else form[sized]
        chosen = fill(stated, self.values, origin, is_last=True).strip()
        if form["batch"] is not None:
            chosen = self.sizer.batch_size(self.name, chosen)
        return f"{form['before'] or ''}{chosen}"


def _number(text: str) -> Scalar:
    """An integer if the text is exactly that, so that `resolve` prints it without quotes."""
    if text.isdecimal() and str(int(text)) == text:
        return int(text)
    return text
