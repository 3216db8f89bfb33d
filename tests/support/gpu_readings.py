"""Reads GPUs that a stub of NVIDIA's C library makes up, through the real pynvml."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from msgspec.structs import replace

from milabench_ddp.machine.backends.backend import Reading
from milabench_ddp.machine.backends.nvidia import NvidiaBackend
from milabench_ddp.machine.devices import Device
from milabench_ddp.samples import DeviceProblem, DeviceSample

BACKEND = NvidiaBackend()
TWO = (Device(0, "0"), Device(1, "1"))
REST = {"power_limit": 700.0, "sm_clock": 1980, "memory_clock": 2619, "clock_reasons": ()}
WHOLE = {
    0: DeviceSample((1024.0, 81920.0), load=0.5, temperature=40.0, power=300.0, **REST),
    1: DeviceSample((2048.0, 81920.0), load=0.51, temperature=41.0, power=300.0, **REST),
}
UUID = "GPU-11111111-1111-1111-1111-111111111111"
MIG = "MIG-10101010-1010-1010-1010-101010101010"
Stub = Callable[..., None]


@contextmanager
def reader(devices: Sequence[Device] = TWO) -> Iterator[Callable[[], Reading]]:
    """Reads devices; the samples are without their times."""
    with BACKEND.source(devices) as read:

        def read_timeless() -> Reading:
            reading = read()
            samples = {}
            for index, sample in reading.samples.items():
                assert sample.time is not None
                samples[index] = replace(sample, time=None)
            return Reading(samples, reading.problems)

        yield read_timeless


def about_gpu_1(predicate: str, *, is_fault: bool = True) -> tuple[DeviceProblem]:
    is_lost = predicate.startswith("does not answer")
    return (DeviceProblem(f"GPU 1 ({UUID}) {predicate}", 1, UUID, is_fault, is_lost=is_lost),)
