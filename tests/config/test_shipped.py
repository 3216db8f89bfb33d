import os
from pathlib import Path

import pytest

from milabench_ddp.config import shipped
from milabench_ddp.config.load import SuiteRequest, load
from milabench_ddp.errors import ConfigError
from tests.support.configuration import facts, write

SUITES = [name for name in shipped.shipped_files("config") if "/_" not in f"/{name}"]


@pytest.fixture
def package(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package in the current folder, with two shipped configurations."""
    root = here / "package" / "shipped"
    for name in ("config/_defaults.yaml", "config/ddp.yaml", "config/sweeps/batch.yaml"):
        write(str(root / name), "")
    monkeypatch.setattr(shipped, "_PACKAGE", here / "package")
    return root


def test_in_a_checkout_they_stand_beside_the_package() -> None:
    assert (shipped.shipped_root() / "milabench_ddp" / "config" / "shipped.py").is_file()


def test_in_a_wheel_they_are_inside(package: Path) -> None:
    assert shipped.shipped_root() == package


def test_a_path_wins_over_a_name(package: Path) -> None:
    write("ddp", "")
    assert shipped.find_config("ddp") == Path("ddp")


@pytest.mark.parametrize("name", ["ddp", "ddp.yaml", "sweeps/batch"])
def test_a_name_is_looked_up(package: Path, name: str) -> None:
    assert shipped.find_config(name).parent.is_relative_to(package / "config")


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("dpd", "no such file, and no shipped configuration of that name: did you mean `ddp`?"),
        ("q", "no such file, and no shipped configuration of that name; "
              "shipped: ddp, sweeps/batch"),
        ("mine.yml", "no such file, and no shipped configuration of that name: "
                     "did you mean `mine.yaml`?"),
        ("../package/shipped/config/ddp", "no such file, and no shipped configuration of that "
                                          "name; shipped: ddp, sweeps/batch"),
    ],
)  # fmt: skip
def test_what_is_neither(package: Path, config: str, message: str) -> None:
    write("mine.yaml", "")
    with pytest.raises(ConfigError) as error:
        shipped.find_config(config)
    assert str(error.value) == f"{config}: {message}"


def test_a_pipe_is_a_configuration(package: Path) -> None:
    os.mkfifo("pipe")
    assert shipped.find_config("pipe") == Path("pipe")


def test_a_folder_is_no_configuration(package: Path) -> None:
    with pytest.raises(ConfigError, match=r"^prog: a folder, not a configuration file$"):
        shipped.find_config("prog")


@pytest.mark.parametrize("preset", ["small", "full"])
@pytest.mark.parametrize("name", SUITES)
def test_a_shipped_suite_has_no_mistake(here: Path, name: str, preset: str) -> None:
    """Whatever the preset disables, and on machines that lack what it needs."""
    found = load(SuiteRequest(name, preset=preset), facts(node_count=2, gpu_count=8))
    assert found.benchmarks
    assert not found.warnings
