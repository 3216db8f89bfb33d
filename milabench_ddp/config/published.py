"""Figures that others published, and what data sheets promise: two of the shipped files."""

import re
from functools import cache
from sys import float_info
from typing import Annotated, Literal, TypeVar

from msgspec import Meta, Struct

from .checks import Count, Text, checked
from .shipped import shipped_root
from .tree import finalize

T = TypeVar("T")
Positive = Annotated[float, Meta(gt=0, le=float_info.max, description="a number above 0")]
_Dtype = Literal["fp32", "tf32", "fp16", "bf16", "fp8"]


class DataSheet(Struct, frozen=True, forbid_unknown_fields=True):
    """What the vendor of a device promises, without sparsity."""

    product: Text  # a regular expression for the name that the driver tells
    family: Text
    tflop_s: dict[_Dtype, Positive]  # of matrix products, by the type of what is multiplied
    source: tuple[Text, ...]
    links_gb_s: Positive | None = None  # of all links to the GPUs of its node, one way


class PublishedRow(Struct, frozen=True, forbid_unknown_fields=True):
    """A figure, and what was measured; ``None`` where that is not known, or does not matter."""

    model: Text  # or another name of the work: matrix product, all_reduce
    device: Text  # its name in data_sheets.yaml
    precision: _Dtype  # of what is multiplied; of a collective, of its elements
    gpus: Count
    value: Positive  # of one GPU; of a collective, its bus bandwidth
    unit: Literal["tokens/s", "images/s", "TFLOP/s", "GB/s"]
    strategy: Text | None = None
    activation: Text | None = None
    compile: Text | None = None
    batch: Count | None = None  # of one GPU, in its memory at once
    size: Count | None = None  # tokens of a sequence, pixels of a side, bytes of a message
    vocabulary: Count | None = None


class Publication(Struct, frozen=True, forbid_unknown_fields=True):
    """A table that someone published."""

    source: Text  # its address
    date: Text
    software: Text
    rows: tuple[PublishedRow, ...]
    note: str = ""


@cache
def data_sheets() -> dict[str, DataSheet]:
    return read_data("data_sheets", DataSheet)


@cache
def publications() -> list[Publication]:
    return list(read_data("published", Publication).values())


def sheet_of(product: str) -> str:
    """The name of the data sheet of a device, by its name; empty without one, and of a part."""
    for name, sheet in data_sheets().items():
        if re.search(sheet.product, product, re.IGNORECASE) and "MIG" not in product:
            return name
    return ""


def read_data(name: str, kind: type[T]) -> dict[str, T]:
    """The records of a shipped file of data, by their names."""
    from .yaml_reader import read_yaml  # here, as in system.py

    top = finalize(read_yaml(shipped_root() / "config" / f"{name}.yaml"))
    return {key: checked(kind, key, node) for key, node in top.entries.items()}
