"""Run-time placeholders: what a configuration may say of the machine and of a run's folders."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..errors import ConfigError, did_you_mean
from ..machine.backends import BACKENDS
from .braces import fill, only_field
from .facts import MachineFacts
from .program import program_of
from .shipped import shipped_root
from .sizing import Options, Sizer
from .tree import Append, Items, Leaf, Node, Removed, Scalar, Table, plain

_FILLED = ("argv", "env", "voir")
# A form is a whole argument, or all of it behind `word=` (batch_size=auto_batch(8)).
_AUTO = re.compile(r"([\w.-]+=)?auto\(([^,()]*),([^,()]*)\)")
_AUTO_BATCH = re.compile(r"([\w.-]+=)?auto_batch\(([^,()]*)\)")


def fill_all(
    entries: Mapping[str, Table], facts: MachineFacts, options: Options
) -> dict[str, Table]:
    """Fill in the argv, env and voir of every benchmark.

    Raises ConfigError for a placeholder that is not known, and for a malformed scaling file.
    """
    sizer = Sizer(options.sizer, facts)
    machine = _machine_values(facts, options)
    filled = {}
    for name, entry in entries.items():
        filler = Filler(name, machine | _own_values(name, entry, facts), options.cpu.auto, sizer)
        parts = {key: filler.fill(entry.entries[key]) for key in _FILLED if key in entry.entries}
        filled[name] = replace(entry, entries={**entry.entries, **parts})
    return filled


def _machine_values(facts: MachineFacts, options: Options) -> dict[str, Scalar]:
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


def _own_values(name: str, entry: Table, facts: MachineFacts) -> dict[str, Scalar]:
    program = program_of(entry)
    group, install_group = (str(plain(entry.entries[k])) for k in ("group", "install_group"))
    return {
        "milabench_code": str(program.parent) if program else "{milabench_code}",
        "milabench_extra": str(facts.base / "extra" / group),
        "milabench_name": name,
        "milabench_venv": str(facts.base / "venv" / install_group),
    }


@dataclass(frozen=True)
class Filler:
    """Fills in the placeholders, ``auto()`` and ``auto_batch()`` of one benchmark."""

    name: str
    values: Mapping[str, Scalar]
    auto: bool  # whether CPU sizing is on
    sizer: Sizer

    def fill(self, node: Node) -> Node:
        """The tree with every placeholder resolved, in keys too.

        A value that is exactly one placeholder keeps its type. Raises ConfigError for a
        placeholder that is not known.
        """
        match node:
            case Leaf(value=str()):
                return self._leaf(node)
            case Items():
                return Items(tuple(self.fill(item) for item in node.items), node.origin)
            case Table():
                filled = {self._text(k, v): self.fill(v) for k, v in node.entries.items()}
                return Table(filled, node.origin)
            case Leaf() | Append() | Removed():
                return node

    def _leaf(self, leaf: Leaf) -> Node:
        text = str(leaf.value)
        whole = only_field(text)
        if whole is not None and whole in self.values:
            return Leaf(self.values[whole], leaf.origin)
        filled = self._text(text, leaf)
        is_form = _AUTO.fullmatch(text) or _AUTO_BATCH.fullmatch(text)
        return Leaf(_number(filled) if is_form else filled, leaf.origin)

    def _text(self, text: str, node: Node) -> str:
        # A form is looked for in what the file says, not in what a value happens to spell.
        if form := _AUTO.fullmatch(text):
            chosen = self._fields(form[2 if self.auto else 3], node).strip()
            return f"{form[1] or ''}{chosen}"
        if form := _AUTO_BATCH.fullmatch(text):
            default = self._fields(form[2], node).strip()
            return f"{form[1] or ''}{self.sizer.batch_size(self.name, default)}"
        return self._fields(text, node)

    def _fields(self, text: str, node: Node) -> str:
        def value(field: str) -> str:
            if field not in self.values:
                hint = did_you_mean(field, self.values)
                raise ConfigError(f"unknown placeholder `{{{field}}}` in {node.origin}{hint}")
            return str(self.values[field])

        return fill(text, value, unescape=True)


def _number(text: str) -> Scalar:
    """An integer where the text is exactly that, so that `resolve` shows one."""
    return int(text) if text.isdecimal() and str(int(text)) == text else text
