"""``milabench export``: write tidy tables of runs, for spreadsheets, databases and notebooks."""

import sys
from collections.abc import Sequence
from pathlib import Path

from ..errors import SelectionError, count_text, disk_errors, require_known
from ..options.reading import ExportOptions
from ..report.export import FILE_KINDS, TABLES, write_tables

ONE = "benchmarks"
"""The table of a single file, unless another is asked for."""


def main(options: ExportOptions) -> int:
    kind, place = options.to[0], Path(options.to[1])
    require_known("--to", kind, FILE_KINDS)
    for name in options.table:
        require_known("--table", name, TABLES)
    paths = files_of(place, kind, options.table)
    written = write_tables(options.runs, kind, paths, overwrite=options.overwrite)
    for name, count in written.items():
        sys.stdout.write(f"{paths[name]}: {count_text(count, 'line')}\n")
    return 0


def files_of(place: Path, kind: str, tables: Sequence[str]) -> dict[str, Path]:
    """The file of each table: in a folder, which is made if it is missing, or one file."""
    if place.suffix[1:] not in FILE_KINDS:
        with disk_errors("make", place):
            place.mkdir(parents=True, exist_ok=True)
        return {name: place / f"{name}.{kind}" for name in tables or TABLES}
    if place.suffix[1:] != kind:
        raise SelectionError(f"--to {kind} {place}: its name says {place.suffix[1:]}")
    if len(tables) > 1:
        raise SelectionError(f"{place} can hold one table, not {', '.join(tables)}: name a folder")
    return dict.fromkeys(tables or (ONE,), place)
