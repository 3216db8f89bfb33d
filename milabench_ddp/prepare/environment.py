"""Makes the virtual environment of an install group.

``<base>/venv/<group>`` is a link to ``.<group>-<digest>`` beside it. The link is set after the
installation: a benchmark never uses half an environment, and when requirements change, the old
environment works until the new one does. A second call finds the digest and does nothing.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from textwrap import indent

from msgspec import Struct

from ..codec import write_record
from ..config.schema import Benchmark
from ..config.tree import shown
from ..errors import ConfigError, PrepareError
from ..files import append_file, read_bytes, replace_file
from ..grouping import grouped
from . import making

STAMP = "milabench.json"  # in an environment in which everything is installed
LAST_LINES = 15

Command = Sequence[str]


class InstallGroup(Struct, frozen=True):
    """A group of benchmarks that share a virtual environment with packages of its own."""

    name: str
    files: tuple[Path, ...]  # the requirements of its benchmarks, each once
    benchmarks: tuple[str, ...]

    def digest(self) -> str:
        """The digest of the files and of this Python, 16 hex digits."""
        hashed = hashlib.sha256(sys.version.encode())
        for file in self.files:
            try:
                hashed.update(b"\0" + read_bytes(file))
            except OSError as error:
                raise ConfigError(f"cannot read {file}: {error.strerror}") from error
        return hashed.hexdigest()[:16]


def install_groups(benchmarks: Iterable[Benchmark]) -> list[InstallGroup]:
    """The install groups with a ``requirements.txt`` beside a program, in order of appearance."""
    members = grouped((benchmark.install_group, benchmark) for benchmark in benchmarks)
    groups = []
    for name, group in members.items():
        stated = dict.fromkeys(each.folder / "requirements.txt" for each in group)
        files = tuple(file for file in stated if file.is_file())
        if not files:
            continue
        if "/" in name or name.startswith("."):
            raise ConfigError(
                f"`install_group` of `{group[0].name}`: `{name}` cannot name a folder"
            )
        groups.append(InstallGroup(name, files, tuple(each.name for each in group)))
    return groups


def find_uv() -> str | None:
    beside = str(Path(sys.executable).parent)
    return shutil.which("uv") or shutil.which("uv", path=beside)


def install_commands(group: InstallGroup, folder: Path, uv: str | None) -> list[Command]:
    python = str(folder / "bin" / "python")
    files: list[str] = []
    for file in group.files:
        files += ["-r", str(file)]
    if uv is None:
        return [
            (sys.executable, "-m", "venv", str(folder)),
            (python, "-m", "pip", "install", "--disable-pip-version-check", *files),
        ]
    return [
        (uv, "venv", "--no-project", "--python", sys.executable, str(folder)),
        (uv, "pip", "install", "--python", python, *files),
    ]


def make_environment(
    group: InstallGroup,
    base: Path,
    on_command: Callable[[str], None],
    *,
    uv: str | None,
    force: bool = False,
) -> bool:
    """Make the environment of a group, unless it exists; return whether it was made."""
    link = base / "venv" / group.name
    folder = link.with_name(f".{group.name}-{group.digest()}")
    if link.exists() and not link.is_symlink():
        raise ConfigError(
            f"{shown(link)} exists, and `milabench install` did not make it: move it away"
        )
    with making(link, link.with_name(f".{group.name}.lock")):
        is_linked = link.is_symlink() and link.readlink() == Path(folder.name)
        if (folder / STAMP).is_file() and not force:
            if not is_linked:
                _link(link, folder)
            return False
        if is_linked:
            link.unlink()
        shutil.rmtree(folder, ignore_errors=True)  # an installation that was interrupted
        log = link.with_name(f"{group.name}.log")
        replace_file(log, b"", is_durable=False)
        for command in install_commands(group, folder, uv):
            on_command(" ".join(command))
            _run(command, group.files[0].parent, log, group.name)
        stamp = {"requirements": list(map(str, group.files)), "python": sys.version}
        write_record(folder / STAMP, stamp)
        _link(link, folder)
    return True


def _run(command: Command, cwd: Path, log: Path, name: str) -> None:
    """Run a command, its output in the log; paths in the requirements are relative to ``cwd``."""
    with append_file(log) as out:
        out.write(os.fsencode(f"$ {' '.join(command)}\n"))
        status = subprocess.call(command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    if status:
        last = read_bytes(log).decode(errors="replace").splitlines()[-LAST_LINES:]
        end = indent("\n".join(last), "  ")
        raise PrepareError(
            f"{name}: the installation failed with exit status {status}; "
            f"the end of {shown(log)}:\n{end}"
        )


def _link(link: Path, folder: Path) -> None:
    temporary = link.with_name(f".{link.name}.new")
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(folder.name)
    temporary.replace(link)
    ours = re.compile(rf"\.{re.escape(link.name)}-[0-9a-f]{{16}}")
    for other in link.parent.iterdir():
        if ours.fullmatch(other.name) and other != folder:
            shutil.rmtree(other, ignore_errors=True)
