"""What is missing is told at once, with the command that makes wheels; carried ones are used."""

import configparser
import os
import re
import subprocess
import sys
import zipfile

import pytest

from perf.gpu_check import packages
from perf.gpu_check.__main__ import main
from tests.support.package_copy import REPOSITORY


@pytest.fixture(autouse=True)
def path(monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])


def provide(folder):
    site = folder / "site"
    environ = {**os.environ, "PYTHONPATH": f"{REPOSITORY}:{site}"}
    return packages.provide(folder / "wheels", site, environ)


def wheel(folder, tag="py3-none-any", text="VALUE = 1"):
    """A wheel of a module that nobody has."""
    folder /= "wheels"
    folder.mkdir()
    info = "made_up-1.0.dist-info"
    with zipfile.ZipFile(folder / f"made_up-1.0-{tag}.whl", "w") as file:
        file.writestr("made_up.py", text)
        file.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: made-up\nVersion: 1.0\n")
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        file.writestr(f"{info}/RECORD", "")


def test_all_that_the_package_requires_is_looked_for():
    settings = configparser.ConfigParser(interpolation=None)
    settings.read(REPOSITORY / "setup.cfg")
    required = {
        re.split(r"\W*>=", line)[0] for line in settings["options"]["install_requires"].split()
    }
    known = {*packages.CARRIED.values(), *packages.OF_THE_MACHINE, packages.PROGRAM}
    assert required - known == {"clustershell", "polars"}


def test_nothing_is_missing_here(tmp_path):
    assert provide(tmp_path) == ""


def test_all_that_is_missing_is_told_with_the_command(monkeypatch, tmp_path):
    missing = {"made_up": "made-up", "made_up_too": "made-up-too"}
    monkeypatch.setattr(packages, "CARRIED", {"yaml": "pyyaml", **missing})
    told = provide(tmp_path)
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert told.startswith("missing: made-up, made-up-too. ")
    assert f"--python-version {version} --platform manylinux_2_28_x86_64 " in told
    assert "-c constraints.txt -d wheels made-up made-up-too\n" in told


def test_carried_wheels_are_installed_into_the_folder(monkeypatch, tmp_path):
    monkeypatch.setattr(packages, "CARRIED", {"made_up": "made-up"})
    wheel(tmp_path)
    assert provide(tmp_path) == ""
    assert (tmp_path / "site" / "made_up.py").exists()


def test_a_package_that_cannot_be_imported_is_missing(monkeypatch, tmp_path):
    monkeypatch.setattr(packages, "CARRIED", {"made_up": "made-up"})
    wheel(tmp_path, text="from json import nothing")
    assert provide(tmp_path).startswith(
        "missing: made-up (cannot import name 'nothing' from 'json' "
    )


def test_wheels_of_another_python_are_told(monkeypatch, tmp_path):
    monkeypatch.setattr(packages, "CARRIED", {"made_up": "made-up"})
    wheel(tmp_path, "cp27-none-any")
    told = provide(tmp_path)
    assert "made_up-1.0-cp27-none-any.whl is not a supported wheel" in told
    assert "missing: made-up. " in told


def test_no_torch_is_not_no_gpu(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(packages, "OF_THE_MACHINE", ("made_up_torch",))
    assert main([str(tmp_path)]) == 2
    err = capsys.readouterr().err
    assert (
        f"no made_up_torch in {sys.executable}: take the Python of this machine that has them"
        in err
    )
    assert "GPU" not in err


def test_no_gpu_is_told_with_the_reason_of_torch(tmp_path):
    command = ["bash", "perf/gpu_check.sh", str(tmp_path / "folder")]
    hidden = {"PATH": "/usr/bin:/bin", "PYTHON": sys.executable, "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(command, cwd=REPOSITORY, env=hidden, capture_output=True, text=True)
    assert done.returncode == 2
    assert "sees no GPU: " in done.stderr
    assert "to rehearse: --device cpu" in done.stderr
    assert not (tmp_path / "folder" / "runs").exists()
