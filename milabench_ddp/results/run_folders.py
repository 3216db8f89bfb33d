"""The run folders that a person names: folders, folders that hold runs, and globs."""

from collections.abc import Iterable
from glob import glob, has_magic
from pathlib import Path

from ..errors import RunDirError
from .read_run import is_run, runs_in


def run_folders(words: Iterable[str | Path]) -> list[Path]:
    """The folders that these words name, in their order; those of a glob or a folder by name.

    A folder that is no run itself stands for the runs in it, or in its ``runs/``. What does not
    exist, or holds no run, is left to the reader of runs, which says so.

    Raises:
        RunDirError: no run folder matches a glob.
    """
    found: list[Path] = []
    for word in words:
        path = Path(word)
        if path.exists() or not has_magic(str(word)):
            found += _held(path) or [path]
            continue
        matched: list[Path] = []
        for name in sorted(glob(str(word))):  # noqa: PTH207 - Path.glob takes no absolute pattern
            matched += _held(Path(name))
        if not matched:
            raise RunDirError(f"no run folder matches {word}")
        found += matched
    return list(dict.fromkeys(found))


def _held(path: Path) -> list[Path]:
    """The folder itself if it is a run, else the runs in it; empty without any."""
    if is_run(path):
        return [path]
    for folder in (path, path / "runs"):
        if names := runs_in(folder):
            return [folder / name for name in names]
    return []
