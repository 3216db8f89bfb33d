"""What the reader of a result file makes of its lines, many at once or one by one."""

from collections.abc import Mapping
from pathlib import Path
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
    with (
        mock.patch.object(reader, "AT_ONCE", block),
        mock.patch.object(reader, "TOGETHER", together),
    ):
        record = asdict(reader.read_events(path))
    record["numbers"] = {
        key: {rank: list(values) for rank, values in ranks.items()}
        for key, ranks in record["numbers"].items()
    }
    # the order of these is not kept where lines have several shapes
    record["ranks"] = sorted(record["ranks"].items())
    record["tables"] = {key: sorted(map(repr, rows)) for key, rows in record["tables"].items()}
    record["defects"] = sorted(map(str, record["defects"]))
    del record["lines"]
    return {name: repr(value) for name, value in record.items()}
