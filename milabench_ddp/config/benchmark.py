"""Builds a Benchmark from a checked tree."""

import os
from dataclasses import fields
from pathlib import Path
from typing import Any

from ..errors import ConfigError
from .presets import PresetResult
from .schema import KEYS, Benchmark, FakeImageNet, check_values
from .tree import MappingNode, ScalarNode, expanded, shown, text_of, to_plain

_FIELDS = {field.name for field in fields(Benchmark)} & KEYS.keys()


def build_benchmark(name: str, result: PresetResult) -> Benchmark:
    """The benchmark that will run.

    Raises ConfigError if its program does not exist, or if it has no plan.
    """
    entry = result.entry
    program = _existing_program(name, entry)
    if "plan" not in entry.entries:
        raise ConfigError(
            f"`{name}` in {entry.origin} has no plan: "
            "add `plan: {method: per_gpu}` or `plan: {method: njobs, n: 1}`"
        )
    record = to_plain(entry)
    checked = check_values(entry)
    values: dict[str, Any] = {key: checked[key] for key in _FIELDS & checked.keys()}
    values |= {"program": program, "voir": None, "voirfile": None}
    if "instrument" in record:
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
    """The script: ``program`` itself, or else ``main.py`` in the folder ``definition``."""
    program, definition = entry.text("program"), entry.text("definition")
    if program:
        return Path(program)
    return Path(definition) / "main.py" if definition else None


def _existing_program(name: str, entry: MappingNode) -> Path:
    path = program_of(entry)
    assert path is not None, "a benchmark without a program is skipped"
    if path.is_file():
        return path
    key = "program" if "program" in entry.entries else "definition"
    origin = entry.entries[key].origin
    raise ConfigError(f"`{key}` of `{name}` in {origin}: no such file: {shown(path)}")


def _fake_imagenet(name: str, entry: MappingNode) -> FakeImageNet | None:
    prepare = entry.mapping("prepare")
    stated = prepare.mapping("fake_imagenet") if prepare else None
    if prepare is None or stated is None:
        return None
    values = KEYS["prepare"].check("prepare", prepare)["fake_imagenet"]
    values.setdefault("classes", min(1000, values["images"]))
    # ImageNet has 1,281,167 images to train with and 50,000 to validate with: 1 in 25.
    values.setdefault("val_images", max(values["classes"], values["images"] // 25))
    data = FakeImageNet(**values)
    for key, count in (("images", data.images), ("val_images", data.val_images)):
        if count < data.classes:
            raise ConfigError(
                f"`prepare.fake_imagenet.{key}` of `{name}` in {stated.origin}: {count} "
                f"images cannot fill {data.classes} classes, which need one each"
            )
    return data
