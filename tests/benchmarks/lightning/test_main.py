import importlib.util
import os
import sys

import pytest
import torch

from benchmarks.common import vision
from benchmarks.common.group import Group
from benchmarks.common.session import Session
from benchmarks.common.strategies.data_parallel import BUFFERS
from tests.support.programs import BENCHMARKS, measured, on_ranks, program

MISSING = importlib.util.find_spec("lightning") is None


@pytest.fixture(autouse=True)
def _environment():
    """What Lightning sets, such as NODE_RANK, is gone afterwards."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


def test_without_lightning_it_is_refused(wire, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "lightning.pytorch", None)
    with pytest.raises(SystemExit) as exit_:
        program("lightning").main(["--device", "cpu"])
    assert exit_.value.code == 2
    message = "error: lightning is not installed: run `milabench install` or install it\n"
    assert capsys.readouterr().err == message
    assert wire.close()[-1]["$event"] == "error"


def test_a_precision_that_lightning_would_replace_is_refused(wire, capsys, monkeypatch):
    lightning = program("lightning")
    monkeypatch.setattr(lightning, "Trainer", object)
    with pytest.raises(SystemExit) as exit_:
        lightning.main(["--device", "cpu", "--precision", "amp-fp16"])
    assert exit_.value.code == 2
    message = "error: Lightning replaces amp-fp16 by amp on a CPU: use --precision amp\n"
    assert capsys.readouterr().err == message
    wire.close()


def test_each_rank_has_its_own_batch():
    args = program("lightning").options().parse_args(["--batch-size=2", "--image-size=8"])
    batches = vision.make_source(args, Group(torch.device("cpu"))).stream(0, 2)
    assert next(batches)[0].shape == (2, 3, 8, 8)


@pytest.mark.skipif(MISSING, reason="lightning is not installed (the extra `lightning`)")
def test_no_rank_waits_for_the_buffers_of_the_first():
    lightning = program("lightning")
    args = lightning.options().parse_args([])
    made = lightning.trainer(args, Session(Group(torch.device("cpu")), None), None)
    assert made.strategy._ddp_kwargs[BUFFERS] is False


@pytest.mark.slow
@pytest.mark.skipif(MISSING, reason="lightning is not installed (the extra `lightning`)")
def test_two_ranks(wire, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    argv = "--model resnet18 --image-size 32 --batch-size 2 --steps 4 --warmup 2 --precision amp"
    done = on_ranks(BENCHMARKS / "lightning" / "main.py", *argv.split())
    assert done.returncode == 0, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["metrics"]  # no log, no checkpoint
    payloads = wire.close()
    rates = [p for p in payloads if "rate" in p]
    assert {(p["units"], p["rank"]) for p in rates} == {("images/s", 0)}
    assert sum(p["steps"] for p in measured(payloads)) == 4
    assert sum(p["steps"] for p in rates) == 6
    times = {p["step_times"]["rank"]: p["step_times"]["ms"] for p in payloads if "step_times" in p}
    assert [len(times[rank]) for rank in (0, 1)] == [4, 4]
    seconds = sum(p["steps"] * 2 * 2 / p["rate"] for p in measured(payloads))
    assert seconds == pytest.approx(sum(times[0]) / 1e3, rel=1e-3)
    (model,) = (p["model"] for p in payloads if "model" in p)
    assert (model["name"], model["ranks"], model["batch_size"]) == ("resnet18", 2, 2)
    assert model["mode"] == "ddp"  # as the report knows it
    for shares in (p["shares"] for p in payloads if "shares" in p):
        parts = {"forward", "backward", "optimizer", "exposed_communication", "data"}
        assert set(shares) == parts
        assert sum(shares.values()) == pytest.approx(1, abs=0.02)
    losses = [p["loss"] for p in payloads if "loss" in p]
    assert all(0 < loss < 50 for loss in losses)
