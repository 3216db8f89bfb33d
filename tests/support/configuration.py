"""Configurations and machine facts from a few lines."""

from pathlib import Path
from textwrap import dedent
from typing import Any

from milabench_ddp.config.conditions import MachineFacts
from milabench_ddp.config.load import SuiteRequest, load, resolve
from milabench_ddp.config.schema import Benchmark, Suite
from milabench_ddp.config.tree import MappingNode, to_plain
from milabench_ddp.config.yaml_reader import parse_yaml

BASE = Path("/base")


def facts(**changes: Any) -> MachineFacts:
    values: dict[str, Any] = {
        "arch": "cuda",
        "node_count": 1,
        "gpu_count": 2,
        "cpu_count": 16,
        "device_name": "GPU 3000",
        "gpu_capacity_mib": 80_000.0,
        "base": BASE,
    }
    return MachineFacts(**{**values, **changes})


def table(text: str, source: str = "x.yaml") -> MappingNode:
    node = parse_yaml(dedent(text), source)
    assert isinstance(node, MappingNode)
    return node


def entries(text: str, source: str = "x.yaml") -> dict[str, MappingNode]:
    found = {k: v for k, v in table(text, source).entries.items() if isinstance(v, MappingNode)}
    assert len(found) == len(table(text, source).entries)
    return found


def write(name: str, text: str) -> Path:
    """Write a file below the current folder, which the fixture `here` made."""
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(text))
    return path


def suite(text: str, *, on: MachineFacts | None = None, **request: Any) -> Suite:
    write("x.yaml", text)
    return load(SuiteRequest("x.yaml", **request), on or facts())


def only(text: str, *, on: MachineFacts | None = None, **request: Any) -> Benchmark:
    (benchmark,) = suite(text, on=on, **request).benchmarks
    return benchmark


def resolved(text: str, *, on: MachineFacts | None = None, **request: Any) -> dict[str, Any]:
    """The resolved values of every benchmark, by name."""
    write("x.yaml", text)
    found = resolve(SuiteRequest("x.yaml", **request), on or facts())
    return {name: to_plain(result.entry) for name, result in found.benchmarks.items()}
