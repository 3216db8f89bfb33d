"""Data sets and benchmarks that the tests of this folder need."""

from pathlib import Path
from typing import Any

from milabench_ddp.config.schema import Benchmark, FakeImageNet, PerGpu


def images(**changes: Any) -> FakeImageNet:
    values = {"images": 7, "val_images": 3, "classes": 3, "size": 16, "seed": 0, "folder": "F"}
    return FakeImageNet(**{**values, **changes})


def benchmark(name: str, program: Path, group: str = "g") -> Benchmark:
    return Benchmark(
        name=name,
        program=program,
        plan=PerGpu(),
        argv=(),
        env={},
        group=group,
        install_group=group,
        tags=frozenset(),
        max_duration=1.0,
        weight=1.0,
        num_machines=None,
        preset=None,
        voir=None,
        voirfile=None,
        record={},
    )
