"""The monitor of this node's devices, as long as benchmarks run."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ..machine.backends import BACKENDS
from ..machine.devices import Device
from ..monitor.sampler import INTERVAL, Sampler
from .runner import Samples


@contextmanager
def sampling(
    arch: str, devices: Sequence[Device], interval: float | None, samples: Samples
) -> Iterator[None]:
    """Sample the devices every ``interval`` seconds; CPU slots have no sensors, 0 is never."""
    source = BACKENDS[arch].source(devices)
    interval = INTERVAL if interval is None else interval
    if source is None or not interval:
        yield
        return
    sampler = Sampler(source, interval, samples, samples.problem)
    sampler.start()
    try:
        yield
    finally:
        sampler.stop()
