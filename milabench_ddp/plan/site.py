"""Where programs and interpreters are found on the nodes."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..config.schema import Benchmark


@dataclass(frozen=True)
class Site:
    """Interpreters of the nodes, the shim that runs a script under voir, and who starts ranks."""

    python: str  # of a benchmark whose install group has no virtual environment
    venvs: Mapping[str, str]  # install group -> interpreter of its virtual environment
    voir_shim: Path
    launcher: Literal["torchrun", "tasks"] = "torchrun"  # tasks: a process for each rank

    def interpreter(self, benchmark: Benchmark) -> str:
        """The interpreter that runs the programs of ``benchmark``."""
        return self.venvs.get(benchmark.install_group, self.python)
