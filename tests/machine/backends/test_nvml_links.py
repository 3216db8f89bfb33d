"""The links of GPUs: their number, rate and kind, and those that are down."""

from collections.abc import Callable

import pynvml
import pytest

from milabench_ddp.machine.backends.nvml import session
from milabench_ddp.machine.backends.nvml_links import fabric_state, nvlinks
from tests.fakes.nvml import FakeGpu, FakeNvml

Install = Callable[..., FakeNvml]


def links_of(install: Install, gpu: FakeGpu) -> dict[str, object] | None:
    install([gpu])
    with session() as nvml:
        return nvlinks(nvml, nvml.nvmlDeviceGetHandleByIndex(0))


@pytest.mark.parametrize(
    ("count", "mbps", "gb_s"),
    [(4, 20625, 20.0), (6, 25781, 25.0), (18, 26562, 25.0), (18, 53125, 50.0)],
)
def test_links_that_are_up(install: Install, count: int, mbps: int, gb_s: float) -> None:
    found = links_of(install, FakeGpu(nvlinks=(True,) * count, nvlink_mbps=mbps))
    assert found == {"links": count, "gb_s": gb_s, "switched": True}


@pytest.mark.parametrize("down", [0, 17])
def test_a_link_that_is_down(install: Install, down: int) -> None:
    found = links_of(install, FakeGpu(nvlinks=tuple(link != down for link in range(18))))
    assert found is not None
    assert found["links"] == 17


def test_links_without_a_switch_and_a_gpu_without_links(install: Install) -> None:
    direct = links_of(install, FakeGpu(nvlinks=(True,) * 12, switched=False))
    assert direct is not None
    assert direct["switched"] is False
    assert links_of(install, FakeGpu()) is None
    unplugged = links_of(install, FakeGpu(nvlinks=(False,) * 12))
    assert unplugged == {"links": 0, "gb_s": None, "switched": False}


@pytest.mark.parametrize(
    ("fabric", "state"),
    [
        (None, None),
        ((pynvml.NVML_GPU_FABRIC_STATE_NOT_SUPPORTED, 0), None),
        ((pynvml.NVML_GPU_FABRIC_STATE_NOT_STARTED, 0), "not started"),
        ((pynvml.NVML_GPU_FABRIC_STATE_IN_PROGRESS, 0), "in progress"),
        ((pynvml.NVML_GPU_FABRIC_STATE_COMPLETED, 0), "completed"),
        ((pynvml.NVML_GPU_FABRIC_STATE_COMPLETED, 999), "error 999"),
    ],
)
def test_the_fabric(install: Install, fabric: tuple[int, int] | None, state: str | None) -> None:
    install([FakeGpu(fabric=fabric)])
    with session() as nvml:
        assert fabric_state(nvml, nvml.nvmlDeviceGetHandleByIndex(0)) == state
