"""An unmodified script under voir, as the supervisor and as a person start it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.programs import BENCHMARKS, measured, torchrun
from tests.support.wait import PATIENCE

EXAMPLE = Path(__file__).parents[1] / "voir_example"


def run(*argv: object, env=None):
    command = [sys.executable, BENCHMARKS / "common" / "with_voir.py", *argv]
    return subprocess.run(
        [str(word) for word in command],
        capture_output=True, text=True, env=os.environ | (env or {}), timeout=PATIENCE,
    )  # fmt: skip


def test_its_rates_arrive_like_any_other(wire):
    done = run(EXAMPLE / "train.py", 100, env={"VOIRFILE": str(EXAMPLE / "voirfile.py")})
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "final loss 0.010\n"
    rates = measured(wire.close())
    assert len(rates) >= 3
    for p in rates:
        assert (p["task"], p["units"]) == ("train", "items/s")
        assert 0 < p["rate"] <= 4 / 0.002  # 4 items in a sleep of 2 ms


def test_options_reach_the_voirfile(wire):
    done = run("--options", '{"stop": 2, "interval": "5"}', EXAMPLE / "train.py", 10_000)
    assert done.returncode == 0
    assert "final loss" not in done.stdout  # voir stopped it
    assert len(measured(wire.close())) == 3  # voir stops at the first one too many


def test_alone_it_prints_its_lines():
    done = run(EXAMPLE / "train.py", 100)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert any("rate" in line for line in lines)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([EXAMPLE / "nothing.py"], "no such script"),
        (["--options", "{", EXAMPLE / "train.py"], "argument --options: not JSON"),
        (["--options", "[1]", EXAMPLE / "train.py"], "argument --options: not an object"),
    ],
)
def test_bad_usage(argv, message):
    done = run(*argv)
    assert done.returncode == 2
    assert message in done.stderr


@pytest.mark.slow
def test_voir_under_torchrun(wire):
    shim = BENCHMARKS / "common" / "with_voir.py"
    done = torchrun(shim, "--options", '{"interval": "0.02s"}', EXAMPLE / "train.py", 60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("final loss") == 2  # both ranks ran the script
    payloads = wire.close()
    assert len(measured(payloads)) >= 3
    phases = [p["$data"]["name"] for p in payloads if p.get("$event") == "phase"]
    assert phases == ["init", "parse_args", "load_script", "run_script", "finalize"]  # one rank's
