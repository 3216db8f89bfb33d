"""What the reader of a result file makes of its lines, many at once or one by one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest import mock

from msgspec.structs import asdict

from milabench_ddp.results import read_events as reader

ONE_BY_ONE = 10**9


def told(
    path: Path, *, block: int = reader.AT_ONCE, together: int = reader.TOGETHER
) -> Mapping[str, str]:
    """What the record of a file holds, as text, so that NaN is equal to itself.

    Args:
        path: the file.
        block: the bytes that are read at once.
        together: the least number of lines of one shape that are decoded at once.
    """
    return {name: repr(value) for name, value in _record(path, block, together).items()}


def told_values(path: Path, *, block: int, together: int) -> Mapping[str, str]:
    """As ``told``, without the order of the ranks, and with whole numbers as floats.

    A program may tell ranks and huge whole numbers in any way; a column has only floats.
    """
    record = _record(path, block, together)
    record["rates"] = [list(map(_as_float, each)) for each in record["rates"]]
    record["losses"] = list(map(_as_float, record["losses"]))
    record["ranks"] = sorted(record["ranks"].items())
    return {name: repr(value) for name, value in record.items()}


def _record(path: Path, block: int, together: int) -> dict[str, Any]:
    with (
        mock.patch.object(reader, "AT_ONCE", block),
        mock.patch.object(reader, "TOGETHER", together),
    ):
        record = asdict(reader.read_events(path))
    record["numbers"] = {
        key: {rank: list(values) for rank, values in ranks.items()}
        for key, ranks in record["numbers"].items()
    }
    record["defects"] = sorted(map(str, record["defects"]))
    del record["lines"]
    return record


def _as_float(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1e300:
        return float(value)
    return value
