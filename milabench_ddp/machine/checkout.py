"""The commit that this program was run from."""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

TIMEOUT = 5.0  # seconds; a checkout on a slow network disk is worth no more


@dataclass(frozen=True)
class Checkout:
    """A commit, and whether the files still are those of the commit."""

    tag: str  # the commit as `git describe` names it
    commit: str
    date: str  # of the commit, ISO 8601
    dirty: bool


def checkout(file: Path, environ: Mapping[str, str]) -> Checkout | None:
    """The checkout that tracks ``file``; None without one, or without git.

    That a repository is somewhere above does not count: the virtual environment that a package is
    installed in often lies inside the checkout of some other project.
    """
    # A hook's GIT_DIR would point to another repository, and `status` must not write to the index.
    env = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    env["GIT_OPTIONAL_LOCKS"] = "0"

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", "-C", file.parent, *words],
            env=env,
            check=True,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
        )
        return done.stdout.strip()

    try:
        git("ls-files", "--error-unmatch", file.name)
        commit, date = git("log", "-1", "--no-show-signature", "--format=%H %cI").split()
        return Checkout(
            tag=git("describe", "--tags", "--always"),
            commit=commit,
            date=date,
            dirty=bool(git("status", "--porcelain", "--untracked-files=no")),
        )
    except (OSError, subprocess.SubprocessError):
        return None
