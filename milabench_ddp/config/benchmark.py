"""Builds a Benchmark from a checked tree."""

import os
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ..errors import ConfigError
from .benchfile import main_script
from .files import is_file
from .presets import PresetResult
from .schema import KEYS, Benchmark, FakeImageNet, check_values
from .tree import MappingNode, ScalarNode, expanded, shown, text_of, to_plain
from .validate import checked

_FIELDS = set(Benchmark.__struct_fields__) & KEYS.keys()


def build_benchmark(name: str, result: PresetResult) -> Benchmark:
    """The benchmark as it runs where its program exists.

    Raises ConfigError if it has no plan.
    """
    entry = result.entry
    program = program_of(entry)
    assert program is not None, "a benchmark without a program is skipped"
    if "plan" not in entry.entries:
        raise ConfigError(
            f"`{name}` in {entry.origin} has no plan: "
            "add `plan: {method: per_gpu}` or `plan: {method: njobs, n: 1}`"
        )
    record = to_plain(entry)
    checked = check_values(entry)
    values: dict[str, Any] = {key: checked[key] for key in _FIELDS & checked.keys()}
    values |= {"program": program, "module": _module(entry), "voir": None, "voirfile": None}
    if "instrument" in record:
        if values["module"]:
            origin = entry.entries["instrument"].origin
            raise ConfigError(f"`instrument` of `{name}` in {origin}: voir runs no package")
        voirfile = program.with_name("voirfile.py")
        values["voir"] = record.get("voir", {}).get("options") or {}
        values["voirfile"] = voirfile if voirfile.is_file() else None
    data = _fake_imagenet(name, entry)
    return Benchmark(name=name, preset=result.preset, record=record, data=data, **values)


def absolute_paths(entry: MappingNode) -> MappingNode:
    """The entry with absolute ``definition`` and ``program``; they are relative to their file."""
    changes = {}
    for key in ("program", "definition"):
        node = entry.get(key)
        stated = text_of(node)
        if node and stated is not None:
            path = node.origin.folder / expanded(stated)
            changes[key] = ScalarNode(os.path.normpath(path), node.origin)
    return entry.with_entries(changes)


def program_of(entry: MappingNode) -> Path | None:
    """The script: ``program`` itself, or else that of the folder ``definition``; None without both.

    That of a folder is ``main.py``, or what its ``benchfile.py`` names; of a package there, its
    ``__main__.py``.
    """
    program, definition = entry.text("program"), entry.text("definition")
    if program:
        return Path(program)
    if not definition:
        return None
    script = Path(definition) / main_script(Path(definition))
    return script / "__main__.py" if script.is_dir() else script


def _module(entry: MappingNode) -> str:
    """The package that ``python -m`` runs in the folder ``definition``; empty for a script."""
    definition = entry.text("definition")
    if entry.text("program") or not definition:
        return ""
    script = main_script(Path(definition))
    return ".".join(Path(script).parts) if (Path(definition) / script).is_dir() else ""


def why_no_program(entry: MappingNode) -> str:
    """Why the program of a benchmark cannot be run; empty if it is there, or none is stated."""
    path = program_of(entry)
    if path is None or is_file(path):
        return ""
    key = "program" if entry.text("program") else "definition"
    return f"no such file: {shown(path)} ({key} in {entry.entries[key].origin})"


def _fake_imagenet(name: str, entry: MappingNode) -> FakeImageNet | None:
    prepare = entry.mapping("prepare")
    stated = prepare.mapping("fake_imagenet") if prepare else None
    if stated is None:
        return None
    given: FakeImageNet = checked(FakeImageNet, "prepare.fake_imagenet", stated)
    classes = given.classes or min(1000, given.images)
    # ImageNet has 1,281,167 images to train with and 50,000 to validate with: 1 in 25.
    val_images = given.val_images or max(classes, given.images // 25)
    data = replace(given, classes=classes, val_images=val_images)
    for key, count in (("images", data.images), ("val_images", data.val_images)):
        if count < data.classes:
            raise ConfigError(
                f"`prepare.fake_imagenet.{key}` of `{name}` in {stated.origin}: {count} "
                f"images cannot fill {data.classes} classes, which need one each"
            )
    return data
