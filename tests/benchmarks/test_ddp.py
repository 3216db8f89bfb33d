"""Real torchruns of two ranks, all in one FIFO."""

from pathlib import Path

import pytest

from tests.support.programs import BENCHMARKS, measured, torchrun

HERE = Path(__file__).parent


@pytest.mark.slow
def test_a_rank_that_raises_has_a_name(wire):
    done = torchrun(HERE / "crashing_ddp.py")
    assert done.returncode == 1
    assert "ValueError: planted in rank 1" in done.stderr
    payloads = wire.close()
    errors = [
        p["$data"] for p in payloads if p.get("$event") == "error" and p["$data"]["rank"] == 1
    ]
    assert [e["message"] for e in errors] == ["planted in rank 1"]
    assert 'raise ValueError("planted in rank 1")' in errors[0]["trace"]
    assert len(measured(payloads)) >= 4  # rank 0's, told as they came


@pytest.mark.slow
def test_voir_under_torchrun(wire):
    example = HERE / "voir_example"
    shim = BENCHMARKS / "common" / "with_voir.py"
    done = torchrun(shim, "--options", '{"interval": "0.02s"}', example / "train.py", 60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("final loss") == 2  # both ranks ran the script
    payloads = wire.close()
    assert len(measured(payloads)) >= 3
    phases = [p["$data"]["name"] for p in payloads if p.get("$event") == "phase"]
    assert phases == ["init", "parse_args", "load_script", "run_script", "finalize"]  # one rank's
