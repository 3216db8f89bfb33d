"""What a folder of made data holds, and whether all of it is there."""

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..config.schema import FakeImageNet
from ..config.tree import shown
from ..errors import ConfigError
from .image import DRAWING

SCHEMA = 1


def complete(folder: Path, wanted: FakeImageNet) -> bool:
    """Whether the folder holds all that is wanted; False where it is to be begun or continued.

    Raises:
        ConfigError: the folder holds something else, which is left alone.
    """
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return False
    try:
        found = json.loads(_path(folder).read_text())
        held, whole = found["holds"], bool(found["complete"])
    except (OSError, ValueError, KeyError, TypeError):
        raise ConfigError(
            f"{shown(folder)} is there and `milabench prepare` has not made it: "
            "name another folder with `prepare.fake_imagenet.folder`, or move it away"
        ) from None
    if held != _holds(wanted):
        differs = ", ".join(
            f"{key} {held.get(key)} and not {value}"
            for key, value in _holds(wanted).items()
            if held.get(key) != value
        )
        raise ConfigError(
            f"{shown(folder)} was made with other settings ({differs}): "
            "name another folder with `prepare.fake_imagenet.folder`, or remove this one"
        )
    return whole


def write(folder: Path, wanted: FakeImageNet, *, complete: bool) -> None:
    """State what the folder holds, all at once; ``OSError`` where it cannot be written."""
    text = json.dumps({"schema": SCHEMA, "holds": _holds(wanted), "complete": complete}, indent=1)
    temporary = _path(folder).with_suffix(".tmp")
    with temporary.open("w") as out:
        out.write(f"{text}\n")
        out.flush()
        os.fsync(out.fileno())
    temporary.replace(_path(folder))


def _path(folder: Path) -> Path:
    return folder / "manifest.json"


def _holds(wanted: FakeImageNet) -> dict[str, Any]:
    settings = {key: value for key, value in asdict(wanted).items() if key != "folder"}
    return {"kind": "fake_imagenet", "drawing": DRAWING, **settings}
