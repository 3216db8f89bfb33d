"""Makes the virtual environment of an install group.

``<base>/venv/<group>`` is a link to ``.<group>-<digest>`` beside it, set when everything is
installed: a benchmark never meets half an environment, and where requirements change the old one
works until the new one does. The digest (see ``requirements.Group``) makes a second call cost
nothing.
"""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from ..config.tree import shown
from ..errors import ConfigError
from .failure import ProvideFailure
from .requirements import Group

STAMP = "milabench.json"
LAST_LINES = 15

Command = Sequence[str]


def uv() -> str | None:
    """The program uv: the one on the path, or beside this interpreter; None where there is none."""
    return shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))


def commands(group: Group, folder: Path, uv: str | None) -> list[Command]:
    """What makes the environment ``folder`` and installs into it: uv, or venv and pip."""
    python = str(folder / "bin" / "python")
    files = [word for file in group.files for word in ("-r", str(file))]
    if uv is None:
        return [
            (sys.executable, "-m", "venv", str(folder)),
            (python, "-m", "pip", "install", "--disable-pip-version-check", *files),
        ]
    return [
        (uv, "venv", "--no-project", "--python", sys.executable, str(folder)),
        (uv, "pip", "install", "--python", python, *files),
    ]


def provide(
    group: Group, base: Path, tell: Callable[[str], None], *, uv: str | None, force: bool = False
) -> bool:
    """Make the environment of a group, unless it is there; True where it was made.

    Args:
        group: what is to be in it.
        base: the folder that holds ``venv/``.
        tell: told of each command before it runs.
        uv: the program uv; None: pip.
        force: make it also where it is there.

    Raises:
        ConfigError: something that is not ours is in its place.
        ProvideFailure: a command failed; the message has its last lines.
    """
    link = base / "venv" / group.name
    folder = link.with_name(f".{group.name}-{group.digest()}")
    if link.exists() and not link.is_symlink():
        raise ConfigError(
            f"{shown(link)} is there and `milabench install` has not made it: move it away"
        )
    whole = (folder / STAMP).is_file()
    if whole and not force:
        if not _leads_to(link, folder):
            _set(link, folder)
        return False
    try:
        if _leads_to(link, folder):
            link.unlink()
        shutil.rmtree(folder, ignore_errors=True)  # what was interrupted is begun again
        folder.parent.mkdir(parents=True, exist_ok=True)
        log = link.with_name(f"{group.name}.log")
        log.write_text("")
        for command in commands(group, folder, uv):
            tell(" ".join(command))
            _run(command, group.files[0].parent, log, group.name)
        stamp = {"requirements": list(map(str, group.files)), "python": sys.version}
        (folder / STAMP).write_text(json.dumps(stamp, indent=1) + "\n")
        _set(link, folder)
    except OSError as error:
        raise ProvideFailure(f"cannot write {shown(link)}: {error.strerror or error}") from error
    return True


def _run(command: Command, cwd: Path, log: Path, name: str) -> None:
    """Run a command, its output in the log; paths in the requirements begin at ``cwd``."""
    with log.open("a") as out:
        out.write(f"$ {' '.join(command)}\n")
        out.flush()
        done = subprocess.run(
            command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=out, stderr=out, check=False
        )
    if done.returncode:
        last = log.read_text(errors="replace").splitlines()[-LAST_LINES:]
        raise ProvideFailure(
            f"{name}: the installation failed with exit status {done.returncode}; "
            f"the end of {shown(log)}:\n" + "\n".join(f"  {line}" for line in last)
        )


def _leads_to(link: Path, folder: Path) -> bool:
    return link.is_symlink() and link.readlink() == Path(folder.name)


def _set(link: Path, folder: Path) -> None:
    """Let the link lead to the folder, at once, and remove what it led to before."""
    fresh = link.with_name(f".{link.name}.new")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(folder.name)
    fresh.replace(link)
    ours = re.compile(rf"\.{re.escape(link.name)}-[0-9a-f]{{16}}")
    for other in link.parent.iterdir():
        if ours.fullmatch(other.name) and other != folder:
            shutil.rmtree(other, ignore_errors=True)
