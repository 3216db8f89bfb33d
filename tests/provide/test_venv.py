"""Real environments, with a package that needs neither network nor a build tool."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from milabench_ddp.errors import ConfigError
from milabench_ddp.provide import venv
from milabench_ddp.provide.failure import ProvideFailure
from milabench_ddp.provide.requirements import Group
from milabench_ddp.provide.venv import commands, provide, uv

# A wheel is a zip file: a package with one module, made here.
WHEEL = """
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as wheel:
    wheel.writestr("tiny.py", "answer = 42\\n")
    info = "tiny-1.0.dist-info"
    wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0\\n")
    wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr(f"{info}/RECORD", "")
"""  # noqa: E501


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Group]:
    folder = tmp_path / "program"
    folder.mkdir()
    subprocess.run([sys.executable, "-c", WHEEL, folder / "tiny-1.0-py3-none-any.whl"], check=True)
    file = folder / "requirements.txt"
    file.write_text("./tiny-1.0-py3-none-any.whl\n")  # the path begins at the file
    return Group("g", (file,), ("a",))


def made(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "venv").iterdir())


def ask(tmp_path: Path, code: str) -> str:
    python = tmp_path / "venv" / "g" / "bin" / "python"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.slow
@pytest.mark.parametrize("tool", [pytest.param("uv", marks=pytest.mark.skipif(
    uv() is None, reason="there is no uv here")), "pip"])  # fmt: skip
def test_it_is_made_once(tmp_path: Path, group: Group, tool: str):
    told: list[str] = []
    program = uv() if tool == "uv" else None
    assert provide(group, tmp_path, told.append, uv=program)
    assert len(told) == 2
    assert ask(tmp_path, "import tiny; print(tiny.answer)") == "42"
    assert ask(tmp_path, "import sys; print(sys.prefix)") == str(tmp_path / "venv" / "g")
    before = made(tmp_path)
    assert not provide(group, tmp_path, told.append, uv=program)
    assert (len(told), made(tmp_path)) == (2, before)


class Fake:
    """What stands for uv and pip: makes the folder, and fails where it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.status, self.calls = 0, 0
        monkeypatch.setattr(venv, "commands", self.commands)

    def commands(self, group: Group, folder: Path, uv: str | None) -> list[list[str]]:
        self.calls += 1
        script = f"mkdir -p {folder}/bin; echo no matching distribution; pwd; exit {self.status}"
        return [["sh", "-c", script]]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    return Fake(monkeypatch)


def silent(_: str) -> None:
    pass


def test_an_installation_that_fails_leaves_nothing_in_the_way(tmp_path, group, fake):
    fake.status = 3
    with pytest.raises(ProvideFailure) as failure:
        provide(group, tmp_path, silent, uv=None)
    message = str(failure.value)
    assert "g: the installation failed with exit status 3; the end of" in message
    assert "  no matching distribution" in message
    assert str(group.files[0].parent) in message  # where it ran
    assert not (tmp_path / "venv" / "g").exists()
    fake.status = 0
    assert provide(group, tmp_path, silent, uv=None)
    assert (tmp_path / "venv" / "g").is_dir()


def test_other_requirements_replace_it_when_they_are_there(tmp_path, group, fake):
    provide(group, tmp_path, silent, uv=None)
    link = tmp_path / "venv" / "g"
    old = link.readlink()
    group.files[0].write_text("something else")
    fake.status = 1
    with pytest.raises(ProvideFailure):
        provide(group, tmp_path, silent, uv=None)
    assert link.readlink() == old  # the old one still works
    assert link.is_dir()
    fake.status = 0
    assert provide(group, tmp_path, silent, uv=None)
    assert link.readlink() != old
    assert made(tmp_path) == sorted([str(link.readlink()), "g", "g.log"])


def test_another_group_with_a_longer_name_is_not_removed(tmp_path, group, fake):
    provide(Group("g-h", group.files, ()), tmp_path, silent, uv=None)
    provide(group, tmp_path, silent, uv=None)
    assert (tmp_path / "venv" / "g-h").is_dir()


def test_force_makes_it_anew(tmp_path, group, fake):
    provide(group, tmp_path, silent, uv=None)
    assert provide(group, tmp_path, silent, uv=None, force=True)
    assert fake.calls == 2
    fake.status = 1
    with pytest.raises(ProvideFailure):
        provide(group, tmp_path, silent, uv=None, force=True)
    assert not (tmp_path / "venv" / "g").exists()  # not half of one


def test_what_was_made_by_hand_is_left_alone(tmp_path, group, fake):
    (tmp_path / "venv" / "g").mkdir(parents=True)
    with pytest.raises(ConfigError, match="has not made it"):
        provide(group, tmp_path, silent, uv=None)
    assert fake.calls == 0


def test_a_base_that_cannot_be_written(group, fake):
    with pytest.raises(ProvideFailure, match="cannot write /proc/nowhere/venv/g"):
        provide(group, Path("/proc/nowhere"), silent, uv=None)


def test_the_commands(group):
    with_uv, with_pip = commands(group, Path("/v"), "/bin/uv"), commands(group, Path("/v"), None)
    file = str(group.files[0])
    assert with_uv[1] == ("/bin/uv", "pip", "install", "--python", "/v/bin/python", "-r", file)
    assert with_pip[1][:4] == ("/v/bin/python", "-m", "pip", "install")
    assert with_pip[1][-2:] == ("-r", file)
