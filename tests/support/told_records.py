"""What the reader of a result file makes of its lines, in blocks or one by one."""

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest import mock

from msgspec.structs import asdict

from milabench_ddp.results import read as reader
from milabench_ddp.results.records import Record
from tests.support.observed import observations


def told(path: Path, *, block: int = reader.AT_ONCE, one_by_one: bool = False) -> Mapping[str, str]:
    """What the record of a file holds, as text, so that NaN is equal to itself.

    Args:
        path: the file.
        block: the bytes that are read at once.
        one_by_one: whether each line is decoded by itself, as where a block is damaged.
    """
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(reader, "AT_ONCE", block))
        if one_by_one:
            stack.enter_context(mock.patch.object(reader, "objects_in", return_value=[]))
        record = reader.read_events(path)
    values: dict[str, Any] = asdict(record)
    values["rates"] = observations(record.rates)
    values["losses"] = list(record.losses)
    values["numbers"] = sorted(told_numbers(record).items())
    values["not_finite"] = sorted(record.not_finite.items())
    values["ranks"] = sorted(record.ranks.items())
    values["defects"] = sorted(map(str, record.defects))
    return {name: repr(value) for name, value in values.items()}


def told_numbers(record: Record) -> dict[str, dict[int, list[tuple[float, int]]]]:
    """The numbers of a record by name and rank: each, and how many observations it has seen."""
    return {
        name: {
            rank: [(metric.numbers[k], int(seen)) for k, seen in enumerate(metric.seen.values())]
            for rank, metric in ranks.items()
        }
        for name, ranks in record.numbers.items()
    }
