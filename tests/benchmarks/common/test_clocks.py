"""The device's clock against events of the shape that torch.cuda and torch.xpu have."""

import torch

from benchmarks.common import clocks


class Event:
    stream = 0.0  # what the device has done, in milliseconds
    made = 0

    def __init__(self, enable_timing):
        assert enable_timing
        type(self).made += 1

    def record(self):
        self.at = Event.stream

    def query(self):
        return Event.stream >= self.at

    def synchronize(self):
        Event.stream = max(Event.stream, self.at)

    def elapsed_time(self, end):
        return end.at - self.at


def test_device_clock(monkeypatch):
    held = []
    module = type("cuda", (), {"Event": Event, "_sleep": held.append})
    monkeypatch.setattr(torch, "get_device_module", lambda device: module)
    clock = clocks.clock_of(torch.device("cuda", 0))
    first = clock.mark()
    Event.stream += 12.5
    second = clock.mark()
    assert clock.happened(second)
    assert clock.milliseconds(first, second) == 12.5
    second.at += 3
    assert not clock.happened(second)
    clock.wait(second)
    assert clock.happened(second)
    clock.recycle([first, second])
    assert {id(clock.mark()), id(clock.mark())} == {id(first), id(second)}
    assert Event.made == 2
    clock.hold(2.5)
    assert clock.can_hold
    assert held == [2.5 * clocks.CYCLES]


def test_a_device_that_cannot_be_held(monkeypatch):
    module = type("xpu", (), {"Event": Event})
    monkeypatch.setattr(torch, "get_device_module", lambda device: module)
    assert not clocks.clock_of(torch.device("xpu", 0)).can_hold
    assert not clocks.clock_of(torch.device("cpu")).can_hold


def test_host_clock():
    clock = clocks.clock_of(torch.device("cpu"))
    first, second = clock.mark(), clock.mark()
    assert clock.happened(second)
    assert clock.milliseconds(first, second) >= 0
    assert clock.milliseconds(0, 2_500_000) == 2.5


def test_a_fetched_loss_is_a_copy_without_a_graph():
    loss = torch.ones((), requires_grad=True) * 2
    fetched = clocks.clock_of(torch.device("cpu")).fetch(loss)
    loss.data.zero_()
    assert float(fetched) == 2
    assert not fetched.requires_grad
