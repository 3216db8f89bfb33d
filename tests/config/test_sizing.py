from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.config.sizing import CpuOptions, Sizer, SizerOptions
from tests.support.configuration import facts, write


@pytest.mark.parametrize(
    ("options", "cpus", "gpus", "workers"),
    [
        ({}, 16, 2, 8),
        ({}, 2, 8, 2),
        ({}, 512, 1, 16),
        ({"max": 64}, 512, 8, 64),
        ({"reserved_cores": 8}, 16, 2, 4),
        ({"n_workers": 0}, 16, 2, 0),
    ],
)
def test_workers(options: dict[str, Any], cpus: int, gpus: int, workers: int) -> None:
    assert CpuOptions(**options).workers(facts(cpu_count=cpus, gpu_count=gpus)) == workers


@pytest.mark.parametrize(
    ("options", "size", "rounded"),
    [
        ({}, 71, 64),
        ({}, 64, 64),
        ({}, 7, 7),
        ({"multiple": 10}, 71, 70),
        ({"power": 2}, 71, 64),
        ({"power": 2}, 1, 1),
        ({"power": 3}, 80, 27),
    ],
)
def test_rounding_down(options: dict[str, Any], size: int, rounded: int) -> None:
    assert SizerOptions(**options).rounded(size) == rounded


def sized(capacity: float = 8000.0, **options: Any) -> str:
    write("s.yaml", "b: {observations: [{batch_size: 10, memory: 1000}, "
                    "{batch_size: 20, memory: 2000}]}")  # fmt: skip
    sizer = Sizer(SizerOptions(**options), facts(gpu_capacity_mib=capacity))
    return sizer.batch_size("b", "default")


def test_the_batch_size_fills_the_device(here: Path) -> None:
    assert sized(auto=True, scaling=Path("s.yaml")) == "80"
    assert sized(auto=True, scaling=Path("s.yaml"), power=2) == "64"
    assert sized(auto=True, scaling=Path("s.yaml"), capacity_mib=3000.0) == "24"


def test_a_given_batch_size_wins(here: Path) -> None:
    assert sized(batch_size=3) == "3"
    assert sized(batch_size=3, auto=True, scaling=Path("s.yaml")) == "3"


def test_the_default_where_nothing_is_known(here: Path) -> None:
    assert sized() == "default"
    assert sized(scaling=Path("s.yaml")) == "default"
    assert sized(auto=True) == "default"
    assert sized(0.0, auto=True, scaling=Path("s.yaml")) == "default"
    write("other.yaml", "c: {}")
    assert sized(auto=True, scaling=Path("other.yaml")) == "default"
