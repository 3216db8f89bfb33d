import pytest

from tests.support.programs import BENCHMARKS, on_ranks, program
from tests.support.two_ranks import check_two_ranks

torchvision_ddp = program("torchvision_ddp")
SMALL = "--model resnet18 --image-size 32 --batch-size 2 --steps 4"


@pytest.mark.parametrize("mode", ["single", "tp", "pipeline"])
def test_a_mode_that_images_have_no_use_for_is_not_offered(mode, capsys):
    with pytest.raises(SystemExit) as end:
        torchvision_ddp.options().parse_args(["--model", "resnet18", "--mode", mode])
    assert end.value.code == 2
    assert f"invalid choice: '{mode}'" in capsys.readouterr().err


def test_a_group_of_one_runs_the_same_program(wire):
    torchvision_ddp.main([*SMALL.split(), "--device", "cpu"])
    payloads = wire.close()
    assert {p["units"] for p in payloads if "rate" in p} == {"images/s"}
    (model,) = [p["model"] for p in payloads if "model" in p]
    assert model["buckets"] >= 1


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["ddp", "fsdp"])
def test_the_modes_train_as_one_device_does(wire, mode):
    torchvision_ddp.main([*SMALL.split(), "--device", "cpu", "--mode", mode, "--check-correctness"])
    (verdict,) = [p["correctness"] for p in wire.close() if "correctness" in p]
    assert verdict["ok"]
    assert verdict["precision"] == "fp64"
    assert verdict["gradient_error"] < 1e-12


@pytest.mark.slow
def test_rounding_does_not_decide_which_pixel_a_pooling_takes(wire):
    """In fp32 ranks of FSDP are 0.12 away after five steps, with nothing wrong."""
    argv = "--model resnet18 --batch-size 4 --image-size 64 --steps 2 --warmup 1 --mode fsdp"
    checks = "--check-correctness --check-steps 5"
    script = BENCHMARKS / "torchvision_ddp" / "main.py"
    done = on_ranks(script, *argv.split(), *checks.split(), ranks=2)
    assert done.returncode == 0, done.stderr
    (verdict,) = [p["correctness"] for p in wire.close() if "correctness" in p]
    assert verdict["ok"]
    assert verdict["gradient_error"] < 1e-12


@pytest.mark.slow
def test_two_ranks(wire):
    check_two_ranks(wire, "torchvision_ddp", SMALL, items=2)
