from pathlib import Path

import pytest

from milabench_ddp.config.schema import Benchmark
from milabench_ddp.errors import ConfigError
from milabench_ddp.provide.requirements import Group, groups
from tests.support.launches import benchmark


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
    found = groups(
        [
            of_group("a", one, "first"),
            of_group("b", none, "second"),
            of_group("c", two, "first"),
            of_group("d", one, "first"),
            of_group("e", none, "first"),
        ]
    )
    files = (one.with_name("requirements.txt"), two.with_name("requirements.txt"))
    assert found == [Group("first", files, ("a", "c", "d", "e"))]


def test_the_digest_is_that_of_the_text(tmp_path: Path):
    file = tmp_path / "requirements.txt"
    digests = []
    for text in ("x", "y", "x"):
        file.write_text(text)
        digests.append(Group("g", (file,), ()).digest())
    assert digests[0] == digests[2] != digests[1]


@pytest.mark.parametrize("name", ["../up", "a/b", ".hidden"])
def test_a_group_that_names_no_folder(tmp_path: Path, name: str):
    with pytest.raises(ConfigError, match="is no name of a folder"):
        groups([of_group("a", program(tmp_path / "one", "x"), name)])


def test_a_file_that_cannot_be_read(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"cannot read .*: No such file"):
        Group("g", (tmp_path / "gone.txt",), ()).digest()
