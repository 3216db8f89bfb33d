"""A stand-in for NVIDIA's C library, below the real ``pynvml``.

``nvml_stub.c`` says how it is told to behave. ``stub_environment`` is for a process of its own; the
fixture ``stub`` (``tests/conftest.py``) for that of the test, which is many times faster.
"""

import ctypes
import os
import shutil
import subprocess
from pathlib import Path

import pynvml
import pytest

_SOURCE = Path(__file__).parents[1] / "fakes" / "nvml_stub.c"


def build(folder: Path, driver: int = 610) -> Path:
    """Make ``folder/libnvidia-ml.so.1`` of a driver; returns the folder, for LD_LIBRARY_PATH."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler to build the stub of NVML")
    target = folder / "libnvidia-ml.so.1"
    version = f"-DDRIVER={driver}"
    subprocess.run([compiler, "-shared", "-fPIC", version, "-o", target, _SOURCE], check=True)
    return folder


def load(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the stub below the ``pynvml`` of this process."""
    monkeypatch.setattr(pynvml, "nvmlLib", ctypes.CDLL(str(library / "libnvidia-ml.so.1")))
    monkeypatch.setattr(pynvml, "_nvmlGetFunctionPointer_cache", {})


def stub_environment(library: Path, *statements: str, **environ: str) -> dict[str, str]:
    """An environment in which GPUs behave as the statements say."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return {
        **kept,
        "LD_LIBRARY_PATH": str(library),
        "NVML_STUB": "; ".join(statements),
        **environ,
    }
