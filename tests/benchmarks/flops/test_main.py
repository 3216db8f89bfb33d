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
    assert wire.close()[-1]["$data"]["skip"] is True


flops = program("flops")


def test_the_shapes_of_a_sweep():
    found = flops.shapes(4096, 4096, 4096)
    assert found[0] == (4096, 4096, 4096)
    assert len(found) == len(set(found)) == len(flops.SWEEP)
    assert all(side % 16 == 0 for shape in found for side in shape)
    assert all(min(shape) >= 16 for shape in flops.shapes(1, 1, 1)[1:])


def test_the_best_shape_is_measured(wire):
    argv = ["--sweep", "--m", "32", "--n", "32", "--number", "2", "--repeat", "3", "--device=cpu"]
    flops.main(argv)
    payloads = wire.close()
    rows = [p["sweep"] for p in payloads if "sweep" in p]
    assert [(r["m"], r["n"], r["k"]) for r in rows] == flops.shapes(32, 32, 32)
    assert all(r["tflop_s"] > 0 for r in rows)
    best = max(rows, key=lambda r: r["tflop_s"])
    work = flops.tflop(best["m"], best["n"], best["k"], number=2)
    times = payloads[-1]["step_times"]["ms"]
    for p, ms in zip(measured(payloads), times, strict=True):
        assert p["rate"] == pytest.approx(work / (ms / 1e3), rel=0.1)


def test_fp8_is_refused_where_there_is_none(wire, capsys):
    with pytest.raises(SystemExit) as exit_:
        flops.main(["--dtype", "fp8", "--device", "cpu"])
    assert exit_.value.code == 2
    message = "error: fp8 needs the matrix cores of a GPU: cpu has none\n"
    assert capsys.readouterr().err == message
    assert wire.close()[-1]["$event"] == "error"


@pytest.mark.parametrize(
    ("capability", "n", "k", "message"),
    [
        ((8, 0), 16, 16, "fp8 needs compute capability 8.9, cuda:0 has 8.0"),
        ((9, 0), 24, 16, "fp8 needs multiples of 16 for --n and --k: they are 24 and 16"),
    ],
)
def test_what_else_fp8_needs(monkeypatch, capability, n, k, message):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: capability)
    monkeypatch.setattr(torch.version, "hip", None)
    with pytest.raises(flops.UnsupportedError) as refusal:
        flops.check_fp8(torch.device("cuda", 0), n, k)
    assert str(refusal.value) == message
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: (8, 9))
    flops.check_fp8(torch.device("cuda", 0), 32, 16)
