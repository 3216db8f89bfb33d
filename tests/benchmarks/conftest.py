"""The programs are scripts: their folder is put on the path, as they do themselves."""

import importlib.util
import json
import os
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))


class Wire:
    """The supervisor's end of a metrics FIFO: a thread that reads every line as it comes."""

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
        """Everything that was written until now; nothing is read after it."""
        os.write(self._fd, b"\0")
        self._thread.join()
        os.close(self._fd)
        assert all(len(line) < 4096 for line in self.lines)
        return [json.loads(line) for line in self.lines]


@pytest.fixture
def wire(tmp_path, monkeypatch) -> Wire:
    """A real FIFO, in the environment under the name that programs look for."""
    made = Wire(tmp_path / "metrics")
    monkeypatch.setenv("MILABENCH_METRICS", str(made.path))
    return made


@pytest.fixture(autouse=True)
def _alone(monkeypatch) -> None:
    """No test inherits a supervisor or a torchrun of the person who runs it."""
    for name in ("MILABENCH_METRICS", "MILABENCH_START", "RANK", "LOCAL_RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def program(name: str) -> ModuleType:
    """The module ``benchmarks/<name>/main.py``."""
    spec = importlib.util.spec_from_file_location(f"{name}_main", BENCHMARKS / name / "main.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def measured(payloads: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rates that count."""
    return [p for p in payloads if "rate" in p and "warmup" not in p]


@pytest.fixture(autouse=True)
def _no_process_group_is_left():
    """A program that fails leaves its group to die with the process, which here goes on."""
    yield
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_initialized():
        distributed.destroy_process_group()
