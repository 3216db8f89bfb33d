import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from milabench_ddp.machine.checkout import checkout

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
    found = checkout(file, ENV)
    assert found is not None
    assert len(found.commit) == 40
    assert found.commit.startswith(found.tag)
    assert found.date.startswith("2026-01-02T03:04:05")
    assert not found.dirty


def test_a_tag_names_the_commit(file: Path) -> None:
    git(file, "tag", "v1.0")
    found = checkout(file, ENV)
    assert found is not None
    assert found.tag == "v1.0"


def test_changed_files_are_told_and_new_ones_do_not_count(file: Path) -> None:
    file.with_name("notes.txt").touch()
    found = checkout(file, ENV)
    assert found is not None
    assert not found.dirty
    file.write_text("x = 2\n")
    found = checkout(file, ENV)
    assert found is not None
    assert found.dirty


def test_the_repository_of_a_hook_is_not_ours(file: Path, tmp_path: Path) -> None:
    found = checkout(file, {**ENV, "GIT_DIR": str(tmp_path / "other/.git")})
    assert found is not None
    assert found.date.startswith("2026-01-02")


def test_a_file_that_is_installed_inside_of_another_checkout(file: Path) -> None:
    installed = file.with_name("site-packages") / "module.py"
    installed.parent.mkdir()
    installed.touch()
    assert checkout(installed, ENV) is None


def test_no_checkout(tmp_path: Path) -> None:
    assert checkout(tmp_path / "module.py", ENV) is None


def test_no_git(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert checkout(file, {"PATH": str(tmp_path)}) is None
