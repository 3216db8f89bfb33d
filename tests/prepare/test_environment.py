"""Real environments, with a package that needs neither network nor a build tool."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from milabench_ddp.config.schema import Benchmark
from milabench_ddp.errors import ConfigError, PrepareError
from milabench_ddp.prepare import environment
from milabench_ddp.prepare.environment import (
    InstallGroup,
    find_uv,
    install_commands,
    install_groups,
    make_environment,
)
from milabench_ddp.results.lock import held
from tests.support.launches import benchmark

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
def group(tmp_path: Path) -> Iterator[InstallGroup]:
    folder = tmp_path / "program"
    folder.mkdir()
    subprocess.run([sys.executable, "-c", WHEEL, folder / "tiny-1.0-py3-none-any.whl"], check=True)
    file = folder / "requirements.txt"
    file.write_text("./tiny-1.0-py3-none-any.whl\n")  # the path begins at the file
    return InstallGroup("g", (file,), ("a",))


def made(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "venv").iterdir())


def ask(tmp_path: Path, code: str) -> str:
    python = tmp_path / "venv" / "g" / "bin" / "python"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.slow
@pytest.mark.parametrize("tool", [pytest.param("uv", marks=pytest.mark.skipif(
    find_uv() is None, reason="there is no uv here")), "pip"])  # fmt: skip
def test_it_is_made_once(tmp_path: Path, group: InstallGroup, tool: str):
    told: list[str] = []
    program = find_uv() if tool == "uv" else None
    assert make_environment(group, tmp_path, told.append, uv=program)
    assert len(told) == 2
    assert ask(tmp_path, "import tiny; print(tiny.answer)") == "42"
    assert ask(tmp_path, "import sys; print(sys.prefix)") == str(tmp_path / "venv" / "g")
    before = made(tmp_path)
    assert not make_environment(group, tmp_path, told.append, uv=program)
    assert (len(told), made(tmp_path)) == (2, before)


class Fake:
    """What stands for uv and pip: makes the folder, and fails where it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.status, self.calls = 0, 0
        monkeypatch.setattr(environment, "install_commands", self.commands)

    def commands(self, group: InstallGroup, folder: Path, uv: str | None) -> list[list[str]]:
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
    with pytest.raises(PrepareError) as failure:
        make_environment(group, tmp_path, silent, uv=None)
    message = str(failure.value)
    assert "g: the installation failed with exit status 3; the end of" in message
    assert "  no matching distribution" in message
    assert str(group.files[0].parent) in message  # where it ran
    assert not (tmp_path / "venv" / "g").exists()
    fake.status = 0
    assert make_environment(group, tmp_path, silent, uv=None)
    assert (tmp_path / "venv" / "g").is_dir()


def test_a_fifo_in_the_place_of_the_log_is_replaced(tmp_path, group, fake):
    (tmp_path / "venv").mkdir()
    os.mkfifo(tmp_path / "venv" / "g.log")
    assert make_environment(group, tmp_path, silent, uv=None)
    assert (tmp_path / "venv" / "g.log").is_file()


def test_other_requirements_replace_it_when_they_are_there(tmp_path, group, fake):
    make_environment(group, tmp_path, silent, uv=None)
    link = tmp_path / "venv" / "g"
    old = link.readlink()
    group.files[0].write_text("something else")
    fake.status = 1
    with pytest.raises(PrepareError):
        make_environment(group, tmp_path, silent, uv=None)
    assert link.readlink() == old  # the old one still works
    assert link.is_dir()
    fake.status = 0
    assert make_environment(group, tmp_path, silent, uv=None)
    assert link.readlink() != old
    assert made(tmp_path) == sorted([str(link.readlink()), "g", "g.log"])


def test_another_group_with_a_longer_name_is_not_removed(tmp_path, group, fake):
    make_environment(InstallGroup("g-h", group.files, ()), tmp_path, silent, uv=None)
    make_environment(group, tmp_path, silent, uv=None)
    assert (tmp_path / "venv" / "g-h").is_dir()


def test_force_makes_it_anew(tmp_path, group, fake):
    make_environment(group, tmp_path, silent, uv=None)
    assert make_environment(group, tmp_path, silent, uv=None, force=True)
    assert fake.calls == 2
    fake.status = 1
    with pytest.raises(PrepareError):
        make_environment(group, tmp_path, silent, uv=None, force=True)
    assert not (tmp_path / "venv" / "g").exists()  # not half of one


def test_what_was_made_by_hand_is_left_alone(tmp_path, group, fake):
    (tmp_path / "venv" / "g").mkdir(parents=True)
    with pytest.raises(ConfigError, match="did not make it"):
        make_environment(group, tmp_path, silent, uv=None)
    assert fake.calls == 0


def test_a_base_that_cannot_be_written(group, fake):
    with pytest.raises(PrepareError, match="cannot write /proc/nowhere/venv/g"):
        make_environment(group, Path("/proc/nowhere"), silent, uv=None)


def test_the_commands(group):
    with_uv, with_pip = (
        install_commands(group, Path("/v"), "/bin/uv"),
        install_commands(group, Path("/v"), None),
    )
    file = str(group.files[0])
    assert with_uv[1] == ("/bin/uv", "pip", "install", "--python", "/v/bin/python", "-r", file)
    assert with_pip[1][:4] == ("/v/bin/python", "-m", "pip", "install")
    assert with_pip[1][-2:] == ("-r", file)


def program(folder: Path, text: str | None) -> Path:
    folder.mkdir()
    if text is not None:
        (folder / "requirements.txt").write_text(text)
    return folder / "main.py"


def of_group(name: str, path: Path, group: str) -> Benchmark:
    return benchmark(name, program=path, install_group=group)


def test_only_groups_with_requirements(tmp_path: Path):
    one, two = program(tmp_path / "one", "x\n"), program(tmp_path / "two", "y\n")
    none = program(tmp_path / "none", None)
    found = install_groups(
        [
            of_group("a", one, "first"),
            of_group("b", none, "second"),
            of_group("c", two, "first"),
            of_group("d", one, "first"),
            of_group("e", none, "first"),
        ]
    )
    files = (one.with_name("requirements.txt"), two.with_name("requirements.txt"))
    assert found == [InstallGroup("first", files, ("a", "c", "d", "e"))]


def test_the_digest_is_that_of_the_text(tmp_path: Path):
    file = tmp_path / "requirements.txt"
    digests = []
    for text in ("x", "y", "x"):
        file.write_text(text)
        digests.append(InstallGroup("g", (file,), ()).digest())
    assert digests[0] == digests[2] != digests[1]


@pytest.mark.parametrize("name", ["../up", "a/b", ".hidden"])
def test_a_group_that_names_no_folder(tmp_path: Path, name: str):
    with pytest.raises(ConfigError, match="cannot name a folder"):
        install_groups([of_group("a", program(tmp_path / "one", "x"), name)])


def test_a_file_that_cannot_be_read(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"cannot read .*: No such file"):
        InstallGroup("g", (tmp_path / "gone.txt",), ()).digest()


def test_of_two_at_once_one_makes_it(tmp_path, group, fake):
    (tmp_path / "venv").mkdir()
    why = rf"another process is making .*venv/g \(process {os.getpid()} on .*\): wait until it is"
    with held(tmp_path / "venv" / ".g.lock"), pytest.raises(PrepareError, match=why):
        make_environment(group, tmp_path, silent, uv=None)
    assert fake.calls == 0
    assert make_environment(group, tmp_path, silent, uv=None)
