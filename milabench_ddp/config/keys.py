"""Every key that a benchmark may have, and what its value must be."""

import re
from collections.abc import Mapping

from ..errors import ConfigError
from .argv import command_line
from .checks import (
    Check,
    flag,
    free,
    mapping,
    number,
    one_of,
    only,
    single,
    text,
    texts,
    whole,
    wrong,
)
from .preset import KEYS as PRESET_KEYS
from .schema import PLAN_METHODS
from .tree import Leaf, Node, Removed, Table, is_null


def check_name(name: str, entry: Table) -> None:
    """Raise ConfigError for a name that could not be part of a file's name, or be selected."""
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"`{name}` in {entry.origin} cannot name a benchmark: "
            "a name is letters, digits and any of `_ . + = @ -`, a letter, digit or `_` first"
        )


def check_known(entry: Table) -> None:
    """Raise ConfigError for a key that is unknown in a benchmark, its job, or its presets."""
    only(BENCHMARK.keys() | {"inherits", "presets", "job"}, entry)
    _check_presets(entry)
    job = entry.entries.get("job")
    if isinstance(job, Table):
        only(BENCHMARK.keys() | {"inherits", "presets", "name"}, job)
        _check_presets(job)


def check_values(entry: Table) -> None:
    """Raise ConfigError for a value of the wrong type; ``entry`` is settled and interpolated."""
    only(BENCHMARK, entry)
    for key, node in entry.entries.items():
        BENCHMARK[key](key, node)


def _check_presets(entry: Table) -> None:
    presets = entry.entries.get("presets")
    if presets is None or _is_nothing(presets):
        return
    if not isinstance(presets, Table):
        raise wrong("presets", presets, "a mapping of presets")
    for name, preset in presets.entries.items():
        if isinstance(preset, Table):
            only(PRESET_KEYS, preset)
        elif not _is_nothing(preset):
            raise wrong(f"presets.{name}", preset, "a mapping")


def _is_nothing(node: Node) -> bool:
    return isinstance(node, Removed) or is_null(node)


def _argv(key: str, node: Node) -> None:
    del key
    command_line(node)


def _environment(key: str, node: Node) -> None:
    if not isinstance(node, Table):
        raise wrong(key, node, "a mapping of variables")
    for name, value in node.entries.items():
        if not name or "=" in name or "\0" in name:
            raise ConfigError(f"`{name}` in {value.origin} cannot name an environment variable")
        single(f"{key}.{name}", value)
        if isinstance(value, Leaf) and "\0" in str(value.value):
            raise ConfigError(f"`{key}.{name}` in {value.origin} holds a null character")


def _folder(key: str, node: Node) -> None:
    text(key, node)
    assert isinstance(node, Leaf)
    if not _NAME.fullmatch(str(node.value)):
        raise wrong(key, node, "the name of a folder, without `/`")


def _plan(key: str, node: Node) -> None:
    checks = {"method": one_of(*PLAN_METHODS)}
    for options in PLAN_METHODS.values():  # an option of another method may have been inherited
        checks |= {name: option.check for name, option in options.items()}
    mapping(checks, required=["method"])(key, node)


_NAME = re.compile(r"\w[\w.+=@-]*")
_SHARE = number("a number from 0 to 1", 0, 1)

_FAKE_IMAGENET: Mapping[str, Check] = {
    "classes": whole(1),
    "folder": _folder,  # below <base>/data
    "images": whole(1),  # of the training set
    "seed": whole(0),
    "size": whole(8),  # height and width, in pixels
    "val_images": whole(1),
}

BENCHMARK: Mapping[str, Check] = {
    "argv": _argv,
    "because": text,  # why it is not enabled
    "client": free,
    "definition": text,
    "docker_image": text,
    "enabled": flag,
    "env": _environment,
    "gradient_accumulation_steps": whole(1),
    "group": text,
    "install_group": text,
    "install_variant": text,
    "instrument": one_of("voir"),
    "matrix": free,  # the point of a variant, once the matrix is expanded
    "max_duration": number("a positive number of seconds", 0, above=True),
    "num_machines": whole(1),
    "pip": free,
    "plan": _plan,
    "prepare": mapping({"fake_imagenet": mapping(_FAKE_IMAGENET, required=["images"])}),
    "program": text,
    "requires_capabilities": texts,
    "scaling": one_of("weak", "strong"),
    "server": free,
    "tags": texts,
    "url": free,
    "use_deepspeed": flag,
    "validation": mapping(
        {"usage": mapping({"gpu_load_threshold": _SHARE, "gpu_mem_threshold": _SHARE})}
    ),
    "voir": mapping(
        {"options": mapping(dict.fromkeys(("gpu_poll", "interval", "skip", "stop"), single))}
    ),
    "weight": number("a number, 0 or more", 0),
}
