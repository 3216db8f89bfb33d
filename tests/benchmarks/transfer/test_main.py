from contextlib import contextmanager

import pytest
import torch

from tests.support.programs import measured, program

transfer = program("transfer")

CPU = torch.device("cpu")


@pytest.mark.parametrize(("direction", "count"), [("h2d", 1), ("d2h", 1), ("both", 2)])
def test_the_rate_is_the_bytes_over_the_time(wire, direction, count):
    argv = f"--direction {direction} --memory pageable --bytes 4Ki --number 3 --repeat 4"
    transfer.main([*argv.split(), "--warmup=1", "--device=cpu"])
    payloads = wire.close()
    (times,) = (p["step_times"]["ms"] for p in payloads if "step_times" in p)
    for p, ms in zip(measured(payloads), times, strict=True):
        # the times are told to 0.1 us
        assert ms == pytest.approx(count * 4096 * 3 / p["rate"] / 1e6, abs=6e-5)
    (row,) = (p["bandwidth"] for p in payloads if "bandwidth" in p)
    assert (row["path"], row["bytes"]) == (f"{direction} pageable", 4096)


@pytest.mark.parametrize("direction", transfer.DIRECTIONS)
@pytest.mark.parametrize("size", [1, 251, 1000])
def test_what_was_not_copied_is_seen(direction, size):
    for way in transfer.ways(direction, size, CPU, pinned=False):
        if size > 1:
            with pytest.raises(RuntimeError, match="gave other data"):
                way.check()
        way.copy()
        way.check()
        way.target[-1] += 1
        with pytest.raises(RuntimeError, match=f"a copy of {size} bytes gave other data"):
            way.check()


def test_a_cpu_has_no_pinned_memory(wire, capsys):
    with pytest.raises(SystemExit) as end:
        transfer.main(["--device", "cpu"])
    assert end.value.code == 2
    sentence = "error: pinned memory is for copies to a GPU: use --memory pageable\n"
    assert capsys.readouterr().err == sentence
    assert wire.close()[-1]["$event"] == "error"


class Stream:
    """A stream that notes what is queued into it."""

    def __init__(self, name, log):
        self.name, self.log = name, log

    def wait_stream(self, other):
        self.log.append((self.name, "waits for", other.name))


class FakeModule:
    """``torch.cuda`` with two streams, and no device."""

    def __init__(self):
        self.log, self.made = [], 0
        self.current = Stream("current", self.log)
        self.Stream = self.new_stream

    def new_stream(self, device):
        self.made += 1
        return Stream(f"stream {self.made}", self.log)

    def current_stream(self, device):
        return self.current

    @contextmanager
    def stream(self, chosen):
        self.log.append((chosen.name, "copies"))
        yield


class NoWay:
    def copy(self):
        pass


def test_both_ways_are_between_the_marks_of_the_current_stream(monkeypatch):
    module = FakeModule()
    monkeypatch.setattr(torch, "get_device_module", lambda _: module)
    copy = transfer.copies([NoWay(), NoWay()], 2, torch.device("cuda", 0))
    copy()
    first, second = "stream 1", "stream 2"
    assert module.log == [
        (first, "waits for", "current"),
        (second, "waits for", "current"),
        *[(first, "copies"), (second, "copies")] * 2,
        ("current", "waits for", first),
        ("current", "waits for", second),
    ]
