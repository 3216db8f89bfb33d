from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.config.sizing import BatchSizing, CpuSizing, Sizer, largest_batch, read_scaling
from milabench_ddp.errors import ConfigError
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
    assert CpuSizing(**options).workers(facts(cpu_count=cpus, gpu_count=gpus)) == workers


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
    assert BatchSizing(**options).rounded(size) == rounded


def sized(capacity: float = 8000.0, **options: Any) -> str:
    write("s.yaml", "b: {observations: [{batch_size: 10, memory: 1000}, "
                    "{batch_size: 20, memory: 2000}]}")  # fmt: skip
    sizer = Sizer(BatchSizing(**options), facts(gpu_capacity_mib=capacity))
    return sizer.batch_size("b", "default")


def test_the_batch_size_fills_the_device(here: Path) -> None:
    assert sized(auto=True, config=Path("s.yaml")) == "80"
    assert sized(auto=True, config=Path("s.yaml"), power=2) == "64"
    assert sized(auto=True, config=Path("s.yaml"), capacity=3000.0) == "24"


def test_a_given_batch_size_wins(here: Path) -> None:
    assert sized(batch_size=3) == "3"
    assert sized(batch_size=3, auto=True, config=Path("s.yaml")) == "3"


def test_the_default_where_nothing_is_known(here: Path) -> None:
    assert sized() == "default"
    assert sized(config=Path("s.yaml")) == "default"
    assert sized(auto=True) == "default"
    assert sized(0.0, auto=True, config=Path("s.yaml")) == "default"
    write("other.yaml", "c: {}")
    assert sized(auto=True, config=Path("other.yaml")) == "default"


def test_version_2(here: Path) -> None:
    write("s.yaml", """
        bert:
          observations:
          - {batch_size: 32, cpu: 8, memory: 16048 MiB, perf: 516.83, time: 1746549896}
          - {batch_size: 64, cpu: 8, memory: 32 GiB, perf: 516.83, time: 1746549896}
        version: 2.0
    """)  # fmt: skip
    assert read_scaling(Path("s.yaml")) == {"bert": [(32.0, 16048.0), (64.0, 32768.0)]}


def test_version_1(here: Path) -> None:
    write("s.yaml", """
        version: 1.0
        bf16: {}
        bert: {arg: --batch-size, model: {1: 4108.75 MiB, 2: 475.0 MiB}, optimized: 128}
    """)  # fmt: skip
    assert read_scaling(Path("s.yaml")) == {"bf16": [], "bert": [(1.0, 4108.75), (2.0, 475.0)]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bert: 3", "wrong value for `bert` in s.yaml:1: expected a mapping, got `3`"),
        (
            "bert:\n  observations: {}",
            "wrong value for `bert.observations` in s.yaml:2: expected a list, got a mapping",
        ),
        (
            "bert:\n  observations:\n    - {batch_size: 3}",
            "`bert.observations[0]` in s.yaml:3 has no `memory`",
        ),
        (
            "bert: {observations: [{batch_size: x, memory: 1}]}",
            "wrong value for `bert.observations[0].batch_size` in s.yaml:1: "
            "expected an integer, got the text `x`",
        ),
        (
            "bert: {model: {0: 1 MiB}}",
            "wrong value for `bert.model` in s.yaml:1: "
            "expected a mapping of batch sizes to their memory, got a mapping",
        ),
        (
            "bert:\n  model:\n    1: much",
            "wrong value for `bert.model.1` in s.yaml:3: "
            "expected an amount of memory such as `81920 MiB`, got the text `much`",
        ),
    ],
)
def test_bad_files(here: Path, text: str, message: str) -> None:
    write("s.yaml", text)
    with pytest.raises(ConfigError) as error:
        read_scaling(Path("s.yaml"))
    assert str(error.value) == message


@given(
    st.floats(0, 1e4),
    st.floats(1, 1e3),
    st.lists(st.integers(1, 512), min_size=2, max_size=6, unique=True),
    st.integers(1, 1000),
)
def test_a_line_is_found_again(
    fixed: float, per_item: float, sizes: list[int], largest: int
) -> None:
    observed = [(float(size), fixed + per_item * size) for size in sizes]
    capacity = fixed + per_item * (largest + 0.5)
    assert largest_batch(observed, capacity) == largest


def test_one_batch_size_is_taken_as_proportional() -> None:
    assert largest_batch([(32.0, 1000.0), (32.0, 1100.0)], 2100.0) == 64


@pytest.mark.parametrize(
    "observed",
    [[], [(1.0, 100.0), (2.0, 100.0)], [(1.0, 100.0), (2.0, 50.0)], [(1.0, 900.0), (2.0, 1000.0)]],
)
def test_nothing_can_be_said(observed: list[tuple[float, float]]) -> None:
    assert largest_batch(observed, 800.0) is None
