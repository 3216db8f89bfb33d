"""Real torchruns of two ranks, all in one FIFO."""

from pathlib import Path

import pytest

from tests.support.programs import BENCHMARKS, measured, program, torchrun

HERE = Path(__file__).parent
elastic = program("elastic_ddp")


def test_a_group_of_one_runs_the_same_program(wire):
    elastic.main(["--steps", "20", "--warmup", "2", "--device", "cpu"])
    payloads = wire.close()
    assert {p["units"] for p in payloads if "rate" in p} == {"items/s"}
    assert len(payloads[-1]["step_times"]["ms"]) == 20


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "argv", "items"),
    [
        ("elastic_ddp", "--steps 300 --warmup 10", 20),
        ("torchvision_ddp", "--model resnet18 --image-size 32 --batch-size 2 --steps 4", 2),
    ],
)
def test_two_ranks(wire, name, argv, items):
    done = torchrun(BENCHMARKS / name / "main.py", *argv.split())
    assert done.returncode == 0, done.stderr
    payloads = wire.close()
    rates = measured(payloads)
    assert {p["rank"] for p in rates} == {0}
    times = {}
    for p in payloads:
        if "step_times" in p:
            chunk = p["step_times"]
            times.setdefault(chunk["rank"], []).extend(chunk["ms"])
    assert set(times) == {0, 1}
    assert len(times[0]) == len(times[1]) == sum(p["steps"] for p in rates)
    # The rate is that of both ranks: their items over the step time of rank 0.
    seconds = sum(p["steps"] * 2 * items / p["rate"] for p in rates)
    assert seconds == pytest.approx(sum(times[0]) / 1e3, rel=1e-3)


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
