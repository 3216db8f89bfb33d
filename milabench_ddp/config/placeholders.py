"""``{name}`` in text, and the run-time placeholders: facts of the machine, folders of a run.

Only a name in braces is a placeholder. ``{{name}}`` stands for ``{name}``; ``${name}`` belongs to
the interpolation; every other brace (``{}``, a lone one, JSON) stays as it is.
"""

import re
from collections.abc import Mapping

from msgspec import Struct

from ..errors import did_you_mean
from ..machine.backends import BACKENDS
from .benchfile import program_of
from .conditions import MachineFacts
from .mistakes import Apart, MistakeError
from .shipped import shipped_root
from .sizing import Sizer, SizingOptions
from .tree import (
    Entries,
    ListNode,
    MappingNode,
    Origin,
    Scalar,
    ScalarNode,
    TreeNode,
    describe_value,
    scalar_text,
)
from .words import LONGEST_WORD

_PLACEHOLDER = re.compile(r"\{\{([A-Za-z_][\w.-]*)\}\}|(?<!\$)\{([A-Za-z_][\w.-]*)\}")
# A form is a whole argument, or the rest of one that begins with `word=`: batch=auto_batch(8).
_FORM = re.compile(
    r"(?P<before>[\w.-]+=)?"
    r"(?:auto\((?P<sized>[^,()]*),(?P<unsized>[^,()]*)\)|auto_batch\((?P<batch>[^,()]*)\))"
)
Values = Mapping[str, Scalar | TreeNode]  # by the names of the placeholders

_FILLED = ("argv", "env", "voir")


def only_name(text: str) -> str | None:
    """The name, if ``text`` is exactly one placeholder; else None."""
    found = _PLACEHOLDER.fullmatch(text)
    return found[2] if found else None


def fill(text: str, values: Values, origin: Origin, *, is_last: bool) -> str:
    """Replace each placeholder by its value, which must be a single one.

    Only the last pass turns ``{{name}}`` into ``{name}``, and raises ConfigError for an unknown
    placeholder; earlier passes leave both as they are.
    """

    def replacement(found: re.Match[str]) -> str:
        escaped, name = found.groups()
        if name in values:
            value = values[name]
            if isinstance(value, Struct):
                raise MistakeError(
                    f"`{found[0]}` in {origin} stands for {describe_value(value)}, "
                    "which must be the whole value and not a part of it",
                    origin,
                )
            return scalar_text(value)
        if not is_last:
            return found[0]
        if escaped:
            return f"{{{escaped}}}"
        hint = did_you_mean(name, values)
        raise MistakeError(f"unknown placeholder `{found[0]}` in {origin}{hint}", origin, name)

    filled = _PLACEHOLDER.sub(replacement, text)
    if len(filled) > max(LONGEST_WORD, len(text)):
        raise MistakeError(
            f"the placeholders in {origin} make a text of {len(filled):,} characters", origin
        )
    return filled


def fill_scalar(scalar: ScalarNode, values: Values, *, is_last: bool) -> TreeNode:
    """Fill in the placeholders of a value; one that is the whole value keeps its type."""
    text, origin = scalar.value, scalar.origin
    if not isinstance(text, str):
        return scalar
    name = only_name(text) or ""
    value = values[name] if name in values else fill(text, values, origin, is_last=is_last)
    return value if isinstance(value, Struct) else ScalarNode(value, origin)


def fill_all(entries: Entries, facts: MachineFacts, options: SizingOptions) -> Entries:
    """Fill in the argv, env and voir of every benchmark."""
    sizer = Sizer(options.sizer, facts)
    base = facts.base
    machine: dict[str, Scalar] = {
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
    filled = {}
    for name, entry in entries.items():
        program = program_of(entry)
        folder = str(program.parent) if program else "{milabench_code}"
        values = {
            **machine,
            "milabench_code": entry.text("definition") or folder,
            "milabench_extra": str(base / "extra" / entry.text("group")),
            "milabench_name": name,
            "milabench_venv": str(base / "venv" / entry.text("install_group")),
        }
        resolver = PlaceholderResolver(name, values, options.cpu.auto, sizer)
        stated = [key for key in _FILLED if key in entry.entries]
        with Apart():
            filled[name] = entry.with_entries(
                {key: resolver.fill(entry.entries[key]) for key in stated}
            )
    return filled


class PlaceholderResolver(Struct, frozen=True):
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
            case ScalarNode(value=str(text), origin=origin) if _FORM.fullmatch(text):
                filled = self._text(text, origin)
                # As a number, `resolve` prints it without quotes.
                is_number = filled.isdecimal() and str(int(filled)) == filled
                return ScalarNode(int(filled) if is_number else filled, origin)
            case ScalarNode():
                return fill_scalar(node, self.values, is_last=True)
            case ListNode():
                return ListNode(tuple(map(self.fill, node.items)), node.origin)
            case MappingNode():
                entries = {}
                for key, value in node.entries.items():
                    entries[self._text(key, value.origin)] = self.fill(value)
                return MappingNode(entries, node.origin)
            case _:
                return node

    def _text(self, text: str, origin: Origin) -> str:
        # Look for a form in the text of the file, not in a value that was filled in.
        form = _FORM.fullmatch(text)
        if form is None:
            return fill(text, self.values, origin, is_last=True)
        before, sized, unsized, batch = form.groups("")
        stated = batch or (sized if self.auto else unsized)
        chosen = fill(stated, self.values, origin, is_last=True).strip()
        if form["batch"] is not None:
            chosen = self.sizer.batch_size(self.name, chosen)
        return f"{before}{chosen}"
