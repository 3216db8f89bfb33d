from itertools import repeat

import pytest
import torch
import torch.distributed as dist

from benchmarks.common.session import session


def train(run, count):
    return run.steps(repeat(None), work=3, units="items", count=count, warmup=1, interval=0)


@pytest.mark.parametrize("distributed", [False, True])
def test_what_a_program_tells(wire, distributed):
    with session("cpu", distributed=distributed) as run:
        assert dist.is_initialized() == distributed
        for _ in train(run, 3):
            run.watch(torch.tensor(2.0))
    assert not dist.is_initialized()
    payloads = wire.close()
    assert [p["step"] for p in payloads if "rate" in p] == [0, 1, 2, 3]
    assert [p["loss"] for p in payloads if "loss" in p] == [2.0] * 4
    times = payloads[-1]["step_times"]
    assert (times["rank"], times["from"], len(times["ms"])) == (0, 1, 3)
    for rate, ms in zip([p["rate"] for p in payloads if "rate" in p][1:], times["ms"], strict=True):
        assert rate == pytest.approx(3000 / ms, rel=0.2)  # ms are rounded to 0.1 us


def test_a_crash_tells_what_was_measured_then_why(wire):
    def program():
        with session("cpu") as run:
            for step, _ in enumerate(train(run, 10)):
                if step == 4:
                    raise ValueError("planted")

    with pytest.raises(ValueError, match="planted"):
        program()
    payloads = wire.close()
    assert len(payloads[-2]["step_times"]["ms"]) == 3
    assert payloads[-1]["$event"] == "error"
    assert payloads[-1]["$data"]["message"] == "planted"


def test_a_crash_before_the_loop_tells_why(wire):
    with pytest.raises(ValueError, match="planted"), session("cpu"):
        raise ValueError("planted")
    (error,) = wire.close()
    assert error["$data"]["type"] == "ValueError"


def test_a_device_that_is_not_there(wire, monkeypatch, capsys):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SystemExit) as exit_, session("cuda"):
        pass
    assert exit_.value.code == 2
    assert wire.close()[0]["$data"]["type"] == "Refusal"
