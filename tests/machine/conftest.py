import sys
from collections.abc import Callable

import pytest

from tests.fakes.nvml import FakeGpu, FakeNvml


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Callable[..., FakeNvml]:
    """Makes a fake NVML the one that is imported."""

    def with_gpus(gpus: list[FakeGpu] = (), init_error: int | None = None) -> FakeNvml:
        nvml = FakeNvml(gpus, init_error)
        monkeypatch.setitem(sys.modules, "pynvml", nvml)
        return nvml

    return with_gpus
