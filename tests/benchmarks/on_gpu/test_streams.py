"""The marks of a clock are on the stream that is current, and tell the time of its work alone."""

import time

import pytest
import torch

from benchmarks.common import clocks


def test_marks_of_a_second_stream_are_of_its_own_work(device, work):
    clock, module = clocks.clock_of(device), torch.get_device_module(device)
    side = module.Stream()
    with module.stream(side):
        begin = clock.mark()
        work(5)
        done = clock.mark()
    work(60)
    with module.stream(side):
        work(5)
        later = clock.mark()
    end = clock.mark()
    side.wait_stream(module.current_stream())
    with module.stream(side):
        joined = clock.mark()
    clock.wait(joined)
    assert clock.milliseconds(begin, done) >= 5
    assert clock.milliseconds(begin, joined) >= clock.milliseconds(begin, end) >= 60
    if device.type == "cuda":  # where the streams work side by side
        assert clock.milliseconds(begin, later) < clock.milliseconds(begin, end) / 2


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_the_clock_of_a_gpu_tells_the_time_of_its_work():
    device = torch.device("cuda", 0)
    clock = clocks.clock_of(device)
    a = torch.randn(4096, 4096, device=device)
    b = torch.empty_like(a)
    torch.cuda.synchronize()
    begin = time.perf_counter()
    start = clock.mark()
    for _ in range(20):
        torch.mm(a, a, out=b)
    end = clock.mark()
    assert not clock.happened(end)  # the host is ahead
    loss = clock.fetch(b[0, 0])
    clock.wait(end)
    assert 0 < clock.milliseconds(start, end) <= 1e3 * (time.perf_counter() - begin)
    torch.cuda.synchronize()
    assert float(loss) == float(b[0, 0])
