"""Which benchmarks need an environment of their own, and what has to be in it."""

import hashlib
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..config.schema import Benchmark
from ..errors import ConfigError


@dataclass(frozen=True)
class Group:
    """An install group whose benchmarks need more than this environment has."""

    name: str
    files: tuple[Path, ...]  # the requirements of its benchmarks, each once
    benchmarks: tuple[str, ...]

    def digest(self) -> str:
        """What the environment depends on, in 16 hex digits: the files, and this Python.

        Raises ConfigError for a file that cannot be read.
        """
        hashed = hashlib.sha256(sys.version.encode())
        for file in self.files:
            try:
                text = file.read_bytes()
            except OSError as error:
                raise ConfigError(f"cannot read {file}: {error.strerror}") from error
            hashed.update(b"\0" + text)
        return hashed.hexdigest()[:16]


def groups(benchmarks: Iterable[Benchmark]) -> list[Group]:
    """The install groups with a ``requirements.txt`` beside a program, in order of appearance.

    Raises ConfigError for a group whose name could not be that of a folder.
    """
    files: dict[str, dict[Path, None]] = {}
    names: dict[str, list[str]] = {}
    for benchmark in benchmarks:
        name, file = benchmark.install_group, benchmark.program.with_name("requirements.txt")
        names.setdefault(name, []).append(benchmark.name)
        if file.is_file():
            if "/" in name or name.startswith("."):
                raise ConfigError(
                    f"`install_group` of `{benchmark.name}`: `{name}` is no name of a folder"
                )
            files.setdefault(name, {})[file] = None
    return [Group(name, tuple(found), tuple(names[name])) for name, found in files.items()]
