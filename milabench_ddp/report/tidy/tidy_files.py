"""Writes tidy tables as files: a new kind of file is a class here, and a line in ``FILE_KINDS``."""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ...errors import RunDirError, SelectionError
from ...files import open_file, whole_file
from ...hidden import SECRETS
from ...table import csv_cell, is_unknown
from ..replaceable import HEAD, refuse
from .columns import TidyColumn
from .read_runs import read_runs
from .tidy_tables import TIDY_TABLES, Values

if TYPE_CHECKING:
    import pyarrow

MEANING = "meaning"  # of a column of Parquet
BATCH = 50_000  # lines that are in memory at once


class TidyFile(Protocol):
    """A file that takes the lines of a table."""

    @staticmethod
    def is_ours(path: Path) -> bool:
        """Whether a file was written by this class for one of the tables."""

    def write(self, rows: Sequence[Values]) -> None:
        """Append lines."""

    def close(self) -> None:
        """Complete the file."""


class CsvFile:
    """A CSV file in UTF-8; an unknown value is empty, and numbers have all digits."""

    def __init__(self, path: Path, columns: Sequence[TidyColumn]) -> None:
        self._out = path.open("w", encoding="utf-8", errors="backslashreplace", newline="")
        self._writer = csv.writer(self._out, lineterminator="\n")
        self._columns = columns
        self._writer.writerow([column.name for column in columns])

    @staticmethod
    def is_ours(path: Path) -> bool:
        """Whether the first line has the columns of a table."""
        with open_file(path) as file:
            names = file.readline(HEAD).decode(errors="replace").rstrip().split(",")
        tables = ([column.name for column in table.columns] for table in TIDY_TABLES.values())
        return names in tables

    def write(self, rows: Sequence[Values]) -> None:
        for row in rows:
            fitted = (c.fitting(value) for c, value in zip(self._columns, row, strict=True))
            self._writer.writerow(map(_csv_value, fitted))

    def close(self) -> None:
        self._out.close()


def _csv_value(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    return (
        ""
        if is_unknown(value)
        else csv_cell(SECRETS.hide(value) if isinstance(value, str) else value)
    )


class ParquetFile:
    """A Parquet file; an unknown value is null, and each column has its meaning and unit."""

    def __init__(self, path: Path, columns: Sequence[TidyColumn]) -> None:
        import pyarrow.parquet

        self._columns = columns
        self._schema = arrow_schema(columns)
        self._writer = pyarrow.parquet.ParquetWriter(path, self._schema)

    @staticmethod
    def is_ours(path: Path) -> bool:
        """Whether each column has its meaning with it."""
        import pyarrow.parquet

        try:
            schema = pyarrow.parquet.read_schema(path)
        except pyarrow.ArrowInvalid:
            return False
        return all(MEANING.encode() in (field.metadata or {}) for field in schema)

    def write(self, rows: Sequence[Values]) -> None:
        self._writer.write_table(arrow_table(self._schema, self._columns, rows))

    def close(self) -> None:
        self._writer.close()


def arrow_schema(columns: Sequence[TidyColumn]) -> "pyarrow.Schema":
    """The schema of a table; the metadata of each field are its ``meaning`` and its ``unit``."""
    import pyarrow

    kinds = {
        str: pyarrow.string(),
        int: pyarrow.int64(),
        float: pyarrow.float64(),
        bool: pyarrow.bool_(),
    }
    fields = []
    for column in columns:
        about = {MEANING: column.meaning, "unit": column.unit}
        fields.append(pyarrow.field(column.name, kinds[column.kind], metadata=about))
    return pyarrow.schema(fields)


def arrow_table(
    schema: "pyarrow.Schema", columns: Sequence[TidyColumn], rows: Sequence[Values]
) -> "pyarrow.Table":
    """These lines as a table of Arrow."""
    import pyarrow

    arrays = []
    for column, field, values in zip(columns, schema, zip(*rows, strict=True), strict=True):
        known = map(column.fitting, values)
        arrays.append(pyarrow.array(list(known), type=field.type, from_pandas=True))
    return pyarrow.table(arrays, schema=schema)


FILE_KINDS: Mapping[str, type[CsvFile] | type[ParquetFile]] = {
    "csv": CsvFile,
    "parquet": ParquetFile,
}


def write_tables(
    words: Iterable[str], kind: str, paths: Mapping[str, Path], *, overwrite: bool = False
) -> dict[str, int]:
    """Write tables of runs, each to its file, which is replaced once it is complete.

    Args:
        words: the runs: folders, folders of runs, globs.
        kind: one of ``FILE_KINDS``.
        paths: the file of each table, by the table's name.
        overwrite: whether to replace files that milabench did not write.

    Returns:
        how many lines each table has.

    Raises:
        RunDirError: a run cannot be read, or a file cannot be written.
        SelectionError: the library that writes such files is not installed.
    """
    counts, name = dict.fromkeys(paths, 0), next(iter(paths))
    try:
        with ExitStack() as stack:
            if not overwrite:
                _check(kind, paths)
            files: dict[str, TidyFile] = {}
            for name, path in paths.items():
                part = stack.enter_context(whole_file(path))
                files[name] = FILE_KINDS[kind](part, TIDY_TABLES[name].columns)
                stack.callback(files[name].close)
            for run in read_runs(words):
                for name, file in files.items():
                    for rows in _batches(TIDY_TABLES[name].rows(run)):
                        file.write(rows)
                        counts[name] += len(rows)
            for name in paths:
                files[name].close()
    except ImportError as error:
        raise SelectionError(
            f"--to {kind} needs pyarrow: pip install 'milabench_ddp[export]', or use --to csv"
        ) from error
    except OSError as error:
        raise RunDirError(f"cannot write {paths[name]}: {error.strerror or error}") from error
    return counts


def _check(kind: str, paths: Mapping[str, Path]) -> None:
    for path in paths.values():
        has_content = path.is_file() and path.stat().st_size > 0
        if has_content and not FILE_KINDS[kind].is_ours(path):
            refuse(path)


def _batches(rows: Iterator[Values]) -> Iterator[Sequence[Values]]:
    while batch := list(islice(rows, BATCH)):
        yield batch
