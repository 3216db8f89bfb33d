"""``milabench doctor``: what it prints, its exit status, and that nothing holds it up."""

import json
import threading

import pytest

from milabench_ddp.cli import main
from milabench_ddp.commands import doctor
from milabench_ddp.dispatch.node_request import NodeRequest
from milabench_ddp.doctor.diagnosis import Diagnosis, State, error, ok, warning
from milabench_ddp.options.suite import LaunchOptions
from tests.golden import check_golden
from tests.support.workplace import Workplace

FOUND = [
    ok("2 CPU slots of AMD EPYC"),
    warning("the number of files that a process may open is 256", "ulimit -n 65536"),
    error("/results cannot be written: Read-only file system", "choose another: --base"),
    warning(
        "other processes compute: python3 (pid 4711, of alice) on 1.0 cores, make (pid 5, of b)"
    ),
]
CHECKS = {*("devices", "torch", "load", "variables", "packages", "base", "py-spy", "slurm")}


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[Diagnosis]:
    """What all checks find, named by their places; the test may change it."""
    made = [Diagnosis(e.state, e.found, e.advice, f"check {k}") for k, e in enumerate(FOUND)]
    monkeypatch.setattr(doctor, "diagnoses", lambda options: made)
    monkeypatch.setattr("sys.executable", "/venv/bin/python")
    return made


@pytest.mark.usefixtures("found")
@pytest.mark.parametrize("width", [80, 140])
def test_the_worst_first(width: int, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert main(["doctor"]) == 1
    check_golden(f"doctor/found_{width}.txt", capsys.readouterr().out)


def test_warnings_are_in_nobodys_way(found: list[Diagnosis], capsys) -> None:
    del found[2]
    assert main(["doctor"]) == 0
    assert capsys.readouterr().out.startswith("PASS: 2 warnings, 1 ok\n")


@pytest.mark.usefixtures("found")
def test_json_for_programs(capsys) -> None:
    assert main(["doctor", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert [each["state"] for each in told["checks"]] == ["error", "warning", "warning", "ok"]
    assert told["checks"][0]["advice"] == "choose another: --base"


def test_a_runner_that_is_wrong_is_no_finding(capsys) -> None:
    assert main(["doctor", "--runner", "slrum"]) == 2
    assert "slurm" in capsys.readouterr().err


def test_devices_that_are_not_there_hold_up_no_other_check(
    at: Workplace, nvml_library, monkeypatch
):
    monkeypatch.setenv("LD_LIBRARY_PATH", str(nvml_library))
    monkeypatch.setenv("NVML_STUB", "system gpus 0")
    done = at.milabench("doctor", "--device", "cuda", "--json")
    states = {each["check"]: each["state"] for each in json.loads(done.out)["checks"]}
    assert (done.code, states["devices"]) == (1, State.ERROR)
    assert set(states) == CHECKS - {"torch", "load", "variables"}


def test_a_driver_that_hangs_holds_up_no_other_check(monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    monkeypatch.setattr(doctor, "_DRIVER", 0.1)
    monkeypatch.setattr(NodeRequest, "detect", lambda self: release.wait())
    found = {each.check: each for each in doctor.diagnoses(LaunchOptions())}
    release.set()
    assert found["devices"].state == State.ERROR
    assert set(found) == CHECKS - {"torch", "load", "variables"}


def test_programs_that_hang_hold_up_no_other_check(
    at: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real checks, with a Slurm and a host that do not answer."""
    for name in ("sinfo", "ssh"):
        at.write(f"bin/{name}", "#!/bin/sh\nexec sleep 600\n").chmod(0o755)
    monkeypatch.setenv("PATH", f"{at.folder / 'bin'}:/usr/bin:/bin")
    at.write("system.yaml", "system: {nodes: [{name: far, ip: 127.0.0.9}]}\n")
    (at.folder / "base").mkdir()
    words = ("--system", "system.yaml", "--runner", "ssh", "--device", "cpu")
    done = at.milabench("doctor", *words, "--json")
    told = json.loads(done.out)["checks"]
    assert {each["check"] for each in told} == CHECKS | {"ssh"}
    states = {each["check"]: each["state"] for each in told}
    assert (states["ssh"], states["slurm"]) == (State.ERROR, State.WARNING)
    assert states["packages"] == State.OK
