"""The benchmark programs: as modules, and as a torchrun."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.support.wait import PATIENCE

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


class Wire:
    """The supervisor's end of a metrics FIFO; a thread reads each line when it arrives."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self.lines: list[bytes] = []
        self._fd = os.open(path, os.O_RDWR)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        buffer = b""
        while b"\0" not in buffer:
            buffer += os.read(self._fd, 65536)
            *lines, buffer = buffer.split(b"\n")
            self.lines += lines

    def close(self) -> list[dict[str, Any]]:
        """Stop reading; returns all that was written until now."""
        os.write(self._fd, b"\0")
        self._thread.join()
        os.close(self._fd)
        assert all(len(line) < 4096 for line in self.lines)
        return [json.loads(line) for line in self.lines]


def program(name: str) -> ModuleType:
    """The module ``benchmarks/<name>/main.py``."""
    spec = importlib.util.spec_from_file_location(f"{name}_main", BENCHMARKS / name / "main.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def measured(payloads: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rates that are not warm-up."""
    return [p for p in payloads if "rate" in p and "warmup" not in p]


def torchrun(*argv: object, ranks: int = 2) -> subprocess.CompletedProcess[str]:
    """Run a script on some ranks with torchrun; a timeout ends all of its processes."""
    options = [f"--nproc-per-node={ranks}", "--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0"]
    return _started("-m", "torch.distributed.run", *options, *argv)


def on_ranks(*argv: object, ranks: int = 2) -> subprocess.CompletedProcess[str]:
    """The same, in less time: modules are loaded once, and torchrun is not there."""
    return _started(Path(__file__).with_name("forked_ranks.py"), ranks, *argv)


def _started(*argv: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *map(str, argv)]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # As torchrun sets it, but before torch is loaded: the threads of ranks that share the cores
        # of a machine wait for each other, and use the time of those that work.
        env=os.environ | {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"},
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=PATIENCE)
    except BaseException:
        os.killpg(process.pid, signal.SIGTERM)  # torchrun ends its workers on SIGTERM
        process.communicate(timeout=PATIENCE)
        raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)
