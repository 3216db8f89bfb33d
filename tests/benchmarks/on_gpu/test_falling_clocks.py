"""A GPU that is loaded lowers its clock: the monitor sees by how much its speed falls."""

import os
import time

import numpy
import pytest
import torch

from benchmarks.common.clocks import clock_of
from milabench_ddp.machine.backends.nvidia import NvidiaBackend

LOADED = 8.0  # seconds


def off(speeds, clocks):
    """By how much the work in a cycle differs from its median, in nine of ten samples.

    It is what the clock leaves open. A clock that was read as it jumped is not that of its time.
    """
    per_cycle = numpy.array(speeds) / numpy.array(clocks)
    return float(numpy.quantile(numpy.abs(per_cycle / numpy.median(per_cycle) - 1), 0.9))


def observed(read, run, seconds, now=time.monotonic):
    """Speeds, and the samples of the only device, each taken while its work was queued."""
    speeds, samples, begin = [], [], now()
    while now() < begin + seconds or not speeds:
        finish = run()
        (sample,) = read().samples.values()
        samples.append(sample)
        speeds.append(finish())
    return speeds, samples


def test_speeds_that_follow_the_clock_are_told_from_others():
    clocks = numpy.linspace(1980, 1400, 20)
    assert off(0.4 * clocks, clocks) < 1e-9
    assert off(numpy.full(20, 700.0), clocks) > 0.1


def test_each_speed_has_the_sample_of_its_time(stub):
    stub("0 sm_clock 1580")
    found = NvidiaBackend().discover({}, None)
    with NvidiaBackend().source(found.devices[:1]) as read:
        speeds, samples = observed(read, lambda: lambda: 5.0, 0)
    assert speeds == [5.0]
    assert [sample.sm_clock for sample in samples] == [1580]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_the_clock_of_a_loaded_gpu_falls_as_its_speed_does():
    device = torch.device("cuda", 0)
    clock = clock_of(device)
    a = torch.randn(8192, 8192, device=device, dtype=torch.bfloat16)
    b = torch.empty_like(a)

    def run(products=200):
        begin = clock.mark()
        for _ in range(products):
            torch.mm(a, a, out=b)
        end = clock.mark()

        def finish():
            clock.wait(end)
            return products / clock.milliseconds(begin, end)

        return finish

    backend = NvidiaBackend()
    found = backend.discover(os.environ, None)
    with backend.source(found.devices[:1]) as read:
        (idle,) = read().samples.values()
        run()()
        speeds, samples = observed(read, run, LOADED)
    clocks = [sample.sm_clock for sample in samples]
    print(f"SM MHz {clocks[0]} to {clocks[-1]}, least {min(clocks)}; W {samples[-1].power}")
    assert samples[-1].power > 2 * idle.power
    assert samples[-1].temperature >= idle.temperature
    assert off(speeds, clocks) < 0.1
    if min(clocks) < 0.95 * max(clocks):
        assert any(sample.clock_reasons for sample in samples)
