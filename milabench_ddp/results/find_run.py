"""Finds the run folders that a person names.

A name is a path, the name of a run in the folder of runs, ``latest``, which is the newest run
there, or ``latest~1``, the one before it. Where several runs may be named, it is also a folder that
holds runs, or a glob.
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from glob import glob, has_magic
from pathlib import Path

from msgspec import Struct

from ..codec import read_record
from ..config.tree import default_base
from ..errors import RunDirError, count_text, did_you_mean, shown_names
from .run_dir import RunDir

_LATEST = re.compile(r"latest(?:~(\d{1,6}))?")


class _Begun(Struct):
    """The part of ``run.json`` that runs are put in order by."""

    created: float  # seconds since the epoch


def named_run(name: str | Path, base: Path | None = None) -> Path:
    """The path of the run that a name means; what is not there is left to the reader of runs."""
    path, words = Path(name), str(name)
    if path.exists() or "/" in words:
        return path
    runs = (default_base() if base is None else base) / "runs"
    if found := _LATEST.fullmatch(words):
        known, count = newest_first(_held(runs)), int(found[1] or 0)
        if count >= len(known):
            some = count_text(len(known), "run") if known else "no runs"
            raise RunDirError(f"no run {words}: {runs} has {some}")
        return known[count]
    return runs / words if words and is_run(runs / words) else path


def existing(name: str) -> RunDir:
    path = named_run(name)
    if not path.exists():
        raise RunDirError(not_there(path))
    return RunDir(path.absolute())


def newest_first(runs: Iterable[Path]) -> list[Path]:
    return sorted(runs, key=lambda path: (begun(path), path.name), reverse=True)


def begun(run: Path) -> float:
    """When a run began, in seconds since the epoch; milabench's own: when it last wrote."""
    with suppress(RunDirError):
        return read_record(RunDir(run).run_json, _Begun).created
    written = [0.0]
    for path in run.glob("*.data"):
        with suppress(OSError):
            written.append(path.stat().st_mtime)
    return max(written)


def not_there(path: Path) -> str:
    """A sentence: there is no such run, but these, the nearest or the newest."""
    folders = list(dict.fromkeys([path.parent / "runs", path.parent, default_base() / "runs"]))
    for folder in folders:
        names = runs_in(folder)
        if path.name in names:
            return f"no run folder {path}: did you mean `{folder / path.name}`?"
        if hint := did_you_mean(path.name, names):
            return f"no run folder {path}{hint}"
    for folder in folders:
        if runs := newest_first(folder / name for name in runs_in(folder)):
            return f"no run folder {path}; {folder} has {_some(run.name for run in runs)}"
    return f"no run folder {path}, and no runs in {folders[-1]}"


def not_a_run(path: Path) -> str:
    what = f"{path} is not a run folder: it has neither a run.json nor .data files"
    if runs := _held(path):
        return f"{what}, but it holds runs: name one of {_some(map(str, runs))}"
    return what if any(path.iterdir()) else f"{what}; it is empty"


def is_run(folder: Path) -> bool:
    return (folder / "run.json").is_file() or any(folder.glob("*.data"))


def runs_in(folder: Path) -> list[str]:
    try:
        return sorted(sub.name for sub in folder.iterdir() if is_run(sub))
    except OSError:
        return []


def _some(runs: Iterable[str]) -> str:
    return shown_names(list(runs), 5)


def run_folders(words: Iterable[str | Path]) -> list[Path]:
    """The folders that these words name, in their order; those of a glob or a folder by name.

    A folder that is no run itself stands for the runs in it, or in its ``runs/``. What does not
    exist, or holds no run, is left to the reader of runs, which says so.
    """
    found: list[Path] = []
    for word in words:
        path = named_run(word)
        if path.exists() or not has_magic(str(word)):
            found += _held(path) or [path]
            continue
        names = sorted(glob(str(word)))  # noqa: PTH207 - Path.glob takes no absolute pattern
        matched = [run for name in names for run in _held(Path(name))]
        if not matched:
            raise RunDirError(f"no run folder matches {word}")
        found += matched
    return list(dict.fromkeys(found))


def _held(path: Path) -> list[Path]:
    if is_run(path):
        return [path]
    for folder in (path, path / "runs"):
        if names := runs_in(folder):
            return [folder / name for name in names]
    return []
