import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from milabench_ddp.machine.provenance import checkout_of, torch_build, versions

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


ENV: Mapping[str, str] = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    **{f"GIT_{who}_NAME": "A" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_EMAIL": "a@example.org" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_DATE": "2026-01-02T03:04:05+00:00" for who in ("AUTHOR", "COMMITTER")},
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A committed file."""
    path = tmp_path / "repository/package/module.py"
    path.parent.mkdir(parents=True)
    path.write_text("x = 1\n")
    git(path, "init", "--quiet")
    git(path, "add", ".")
    git(path, "commit", "--quiet", "--message", "First")
    return path


def git(file: Path, *words: str) -> None:
    if words[0] == "init":
        words = ("init", *words[1:], str(file.parents[1]))
    subprocess.run(["git", "-C", file.parent, *words], env=ENV, check=True)


def test_a_clean_checkout(file: Path) -> None:
    found = checkout_of(file, ENV)
    assert found is not None
    assert len(found["commit"]) == 40
    assert found["commit"].startswith(found["tag"])
    assert found["date"].startswith("2026-01-02T03:04:05")
    assert not found["dirty"]


def test_a_tag_names_the_commit(file: Path) -> None:
    git(file, "tag", "v1.0")
    found = checkout_of(file, ENV)
    assert found is not None
    assert found["tag"] == "v1.0"


def test_changed_files_are_told_and_new_ones_do_not_count(file: Path) -> None:
    file.with_name("notes.txt").touch()
    found = checkout_of(file, ENV)
    assert found is not None
    assert not found["dirty"]
    file.write_text("x = 2\n")
    found = checkout_of(file, ENV)
    assert found is not None
    assert found["dirty"]


def test_the_repository_of_a_hook_is_not_ours(file: Path, tmp_path: Path) -> None:
    found = checkout_of(file, {**ENV, "GIT_DIR": str(tmp_path / "other/.git")})
    assert found is not None
    assert found["date"].startswith("2026-01-02")


def test_a_file_that_is_installed_inside_of_another_checkout(file: Path) -> None:
    installed = file.with_name("site-packages") / "module.py"
    installed.parent.mkdir()
    installed.touch()
    assert checkout_of(installed, ENV) is None


def test_no_checkout(tmp_path: Path) -> None:
    assert checkout_of(tmp_path / "module.py", ENV) is None


def test_no_git(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert checkout_of(file, {"PATH": str(tmp_path)}) is None
