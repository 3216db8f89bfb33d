import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from tests.support.programs import measured, program

flops = program("flops")


def test_the_formula_is_that_of_torchs_counter():
    with FlopCounterMode(display=False) as counter:
        for _ in range(3):
            torch.mm(torch.ones(4, 16), torch.ones(16, 8))
    assert flops.tflop(4, 8, 16, number=3) * 1e12 == pytest.approx(counter.get_total_flops())


@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
def test_each_repeat_is_an_observation(wire, dtype):
    argv = ["--m", "32", "--n", "64", "--dtype", dtype, "--number", "2", "--repeat", "7"]
    flops.main([*argv, "--warmup", "3", "--device", "cpu"])
    payloads = wire.close()
    rates = [p for p in payloads if "rate" in p]
    assert [p.get("warmup", False) for p in rates] == [True] * 3 + [False] * 7
    assert {p["units"] for p in rates} == {"TFLOP/s"}
    times = payloads[-1]["step_times"]["ms"]
    for p, ms in zip(measured(payloads), times, strict=True):
        # one step: 2 products of 32 x 64 and 64 x 64
        assert p["rate"] == pytest.approx(2 * 2 * 32 * 64 * 64 / (ms / 1e3) / 1e12, rel=0.1)


def test_help_states_the_formula():
    assert "TFLOP/s = 2 * m * n * k * number / seconds / 1e12" in flops.options().format_help()


def test_a_precision_that_the_device_lacks(wire, capsys):
    with pytest.raises(SystemExit) as exit_:
        flops.main(["--dtype", "tf32", "--device", "cpu"])
    assert exit_.value.code == 2
    assert capsys.readouterr().err == "error: tf32 is a mode of CUDA's tensor cores: cpu has none\n"
    assert wire.close()[0]["$event"] == "error"
