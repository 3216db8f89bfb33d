"""A checked tree -> a frozen Benchmark."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import ConfigError
from .argv import command_line
from .paths import shown
from .preset import Applied
from .program import program_leaf, program_of
from .schema import PLAN_METHODS, Benchmark, FakeImageNet, PlanSpec
from .tree import Leaf, Table, plain, scalar_text


def build(name: str, applied: Applied) -> Benchmark:
    """The benchmark that will run.

    Raises ConfigError where its program is not there or it has no plan.
    """
    entry = applied.table
    record: Mapping[str, Any] = plain(entry)
    program = _program(name, entry)
    instrumented = "instrument" in record
    voirfile = program.parent / "voirfile.py"
    return Benchmark(
        name=name,
        program=program,
        plan=_plan(name, entry),
        argv=command_line(entry.entries.get("argv")),
        env=_environment(entry),
        group=record["group"],
        install_group=record["install_group"],
        tags=frozenset(record.get("tags", ())),
        max_duration=float(record["max_duration"]),
        weight=float(record["weight"]),
        num_machines=record.get("num_machines"),
        preset=applied.preset,
        voir=record.get("voir", {}).get("options", {}) if instrumented else None,
        voirfile=voirfile if instrumented and voirfile.is_file() else None,
        record=record,
        data=_data(name, entry),
        scaling=record.get("scaling", "weak"),
    )


def _program(name: str, entry: Table) -> Path:
    path, leaf = program_of(entry), program_leaf(entry)
    assert path is not None
    assert leaf is not None
    if path.is_file():
        return path
    key = "program" if "program" in entry.entries else "definition"
    raise ConfigError(f"`{key}` of `{name}` in {leaf.origin}: no such file: {shown(path)}")


def _plan(name: str, entry: Table) -> PlanSpec:
    plan = entry.entries.get("plan")
    if not isinstance(plan, Table):
        raise ConfigError(
            f"`{name}` in {entry.origin} has no plan: "
            "add `plan: {method: per_gpu}` or `plan: {method: njobs, n: 1}`"
        )
    values = plain(plan)
    method = values["method"]
    options = {}
    for key, option in PLAN_METHODS[method].items():
        stated = values.get(key)
        options[key] = option.default if stated is None else stated
    return PlanSpec(method, options)


def _data(name: str, entry: Table) -> FakeImageNet | None:
    prepare = entry.entries.get("prepare")
    asked = prepare.entries.get("fake_imagenet") if isinstance(prepare, Table) else None
    if not isinstance(asked, Table):
        return None
    values = {key: value for key, value in plain(asked).items() if value is not None}
    images = values["images"]
    classes = values.setdefault("classes", min(1000, images))
    # ImageNet has 1,281,167 images to train with and 50,000 to validate with: 1 in 25.
    values.setdefault("val_images", max(classes, images // 25))
    for key in ("images", "val_images"):
        if values[key] < classes:
            raise ConfigError(
                f"`prepare.fake_imagenet.{key}` of `{name}` in {asked.origin}: {values[key]} "
                f"images cannot fill {classes} classes, which need one each"
            )
    return FakeImageNet(**{"size": 256, "seed": 0, "folder": "FakeImageNet", **values})


def _environment(entry: Table) -> dict[str, str]:
    env = entry.entries.get("env")
    if not isinstance(env, Table):
        return {}
    return {
        name: scalar_text(node.value)
        for name, node in env.entries.items()
        if isinstance(node, Leaf) and node.value is not None
    }
