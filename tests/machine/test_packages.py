import sys
from pathlib import Path

import pytest

from milabench_ddp.machine.packages import torch_build, versions

VERSION_PY = """
from typing import Optional
raise RuntimeError("this file is read, not run")
__all__ = ["__version__"]
__version__ = "2.99.0+cu139"
debug = True
cuda: Optional[str] = '13.9'
git_version = 'abc'
hip: Optional[str] = None
"""


def install(site: Path, name: str, version: str) -> None:
    folder = site / f"{name.replace('-', '_')}-{version}.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    for name, version in {
        "torch": "2.99.0",
        "numpy": "3.0.1",
        "nvidia-ml-py": "13.1",
        "nvidia-nccl-cu13": "2.50.1",
        "nvidia-nccl-cu12": "2.20.0",
        "unrelated": "1.0",
    }.items():
        install(tmp_path, name, version)
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch/version.py").write_text(VERSION_PY)
    return tmp_path


def test_versions_of_what_is_installed(site: Path) -> None:
    assert versions([str(site)]) == {"torch": "2.99.0", "numpy": "3.0.1", "nvidia-ml-py": "13.1"}


def test_how_torch_was_built_without_importing_it(site: Path) -> None:
    assert torch_build([str(site)]) == {
        "torch": "2.99.0+cu139",
        "cuda": "13.9",
        "hip": None,
        "debug": True,
        "git_version": "abc",
        "nccl": "2.50.1",
    }


def test_a_torch_whose_files_lie_elsewhere(site: Path) -> None:
    (site / "torch/version.py").unlink()
    assert torch_build([str(site)]) == {"torch": "2.99.0"}


def test_no_torch(tmp_path: Path) -> None:
    assert torch_build([str(tmp_path)]) == {}
    assert versions([str(tmp_path)]) == {}


def test_the_torch_that_is_installed_here() -> None:
    build = torch_build(sys.path)
    assert build["torch"].split("+")[0] == versions(sys.path)["torch"].split("+")[0]
    assert build["debug"] is False
