"""Runs as tables, for ``milabench export`` and for scripts: as files, frames of polars or records.

Each run is reported on by itself: tables never pool runs. ``results/tables.py`` has the columns of
the tables that have a line for each step, rate, sample or event; the others are here.
"""

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import make_dataclass
from functools import cached_property, lru_cache
from io import BytesIO
from itertools import starmap
from pathlib import Path
from typing import IO, Any, get_args

from msgspec.structs import asdict

from ..codec import encode
from ..errors import SelectionError, disk_errors, one_of
from ..files import open_file
from ..hidden import SECRETS
from ..numerics import Frame, pl
from ..results import tables
from ..results.find_run import run_folders
from ..results.tables import BENCHMARK, RUN, TableColumn, TableSchema
from ..table import csv_cell
from . import frames
from .assemble import report_of
from .document import Document, benchmarks_of, document_of
from .fields import IN_EXPORT, Field, values_of
from .model import Report
from .process import Processes
from .rank_fields import IN_EXPORT as RANK
from .replaceable import HEAD, refuse, whole
from .statistics.values import NAN
from .tables.ledger_table import ranks_of

Line = dict[str, object]

FACTS = {
    "devices": ("devices", "the devices of a node"),
    "device_memory": ("device memory", "the memory of a device"),
    "power_limit": ("power limit", "the power caps of its devices"),
    "ecc": ("ECC", "whether its devices correct errors of their memory"),
    "cpu": ("CPU", "the CPUs of a node"),
    "driver": ("driver", "the version of the driver"),
    **{
        name.lower(): (name, f"the version of {name}")
        for name in ("torch", "CUDA", "ROCm", "NCCL", "cuDNN", "triton", "Python", "milabench")
    },
    "commit": ("milabench commit", "the commit of milabench"),
    "environment": ("environment", "its variables that change speed"),
    "modules": ("modules", "the environment modules that were loaded"),
    "image": ("image", "the image of its container, and the digest of it"),
}
"""The columns of a run's facts: the name of the fact, and what it means."""


def columns_of(fields: Iterable[Field]) -> Iterator[TableColumn]:
    for field in fields:
        kind, *_ = get_args(field.kind) or [field.kind]  # the first may be followed by None
        yield TableColumn(field.name, kind, field.meaning, field.unit)


TABLES: Mapping[str, TableSchema] = {
    "runs": TableSchema(
        "A run.",
        (
            RUN,
            TableColumn("name", str, "its name"),
            TableColumn("outcome", str, "how it ended; not known while it goes on"),
            TableColumn("preset", str, "its preset"),
            TableColumn("started", float, "when it began, since the epoch", "s"),
            TableColumn("seconds", float, "how long it took", "s"),
            TableColumn("command", str, "the command that started it, as for a shell"),
            TableColumn("host", str, "a node of it"),
            *(TableColumn(name, str, meaning) for name, (_, meaning) in FACTS.items()),
        ),
    ),
    "benchmarks": TableSchema(
        "A benchmark of a run: its row of the main table, and more.",
        (RUN, BENCHMARK, *columns_of(IN_EXPORT)),
    ),
    "ranks": TableSchema(
        "A rank of a job, or a device, over all launches of a benchmark.",
        (RUN, BENCHMARK, *columns_of(RANK)),
    ),
    "steps": tables.STEPS,
    "rates": tables.RATES,
    "samples": tables.SAMPLES,
    "host_samples": tables.HOST_SAMPLES,
    "events": tables.EVENTS,
    "findings": TableSchema(
        "A finding; ``benchmark`` is empty where it is about the run.",
        (
            RUN,
            BENCHMARK,
            TableColumn("severity", str, "error, warning or note"),
            TableColumn("name", str, "its name, as the report's documentation lists it"),
            TableColumn("place", str, "a rank, a device, a process or a file"),
            TableColumn("sentence", str, "what stands out"),
            TableColumn("advice", str, "what to do"),
        ),
    ),
}


def _runs(report: Report) -> Iterator[Line]:
    for run in report.runs:
        facts = {name: run.facts.get(fact) for name, (fact, _) in FACTS.items()}
        outcome, command = run.outcome or None, shlex.join(run.command)
        yield {**asdict(run), **facts, "outcome": outcome, "command": command}


def _benchmarks(report: Report) -> Iterator[Line]:
    for benchmark in benchmarks_of(report):
        yield {"benchmark": benchmark.row.name, **values_of(IN_EXPORT, benchmark)}


def _ranks(report: Report) -> Iterator[Line]:
    for row in report.rows:
        for rank in ranks_of(row):
            yield {"benchmark": row.name, **values_of(RANK, rank)}


def _findings(report: Report) -> Iterator[Line]:
    for finding in report.findings:
        yield {**asdict(finding), "severity": str(finding.severity)}


OF_REPORT: Mapping[str, Callable[[Report], Iterator[Line]]] = {
    "runs": _runs,
    "benchmarks": _benchmarks,
    "ranks": _ranks,
    "findings": _findings,
}
OF_PROCESSES: Mapping[str, Callable[[Processes], Frame]] = {
    "steps": frames.steps,
    "rates": frames.rates,
    "samples": frames.samples,
    "host_samples": frames.host_samples,
    "events": frames.events,
}


def frame_of(name: str, report: Report) -> Frame:
    if name in OF_PROCESSES:
        return OF_PROCESSES[name]([process for row in report.rows for process in row.processes])
    run = str(report.runs[0].path)
    return TABLES[name].frame_of_lines({**line, "run": run} for line in OF_REPORT[name](report))


class RunTables:
    """The tables of runs: ``found.steps`` is a list of records, ``found.frame("steps")`` a frame.

    The names are those of ``TABLES``, the fields of a record those of the table's columns. What is
    not known is null in a frame; in a record it is NaN if the column has floats, and else None.
    """

    def __init__(self, words: Iterable[str | Path]) -> None:
        self._reports = [report_of([folder]) for folder in run_folders(words)]

    @cached_property
    def reports(self) -> list[Document]:
        """The report on each run, as ``report --format json`` writes it."""
        return list(map(document_of, self._reports))

    def frame(self, name: str) -> Frame:
        """A table as a frame of polars.

        Raises:
            SelectionError: there is no such table.
        """
        if name not in TABLES:
            raise SelectionError(f"no table {name}: {one_of(name, list(TABLES))}")
        return pl.concat(frame_of(name, report) for report in self._reports)

    def __getattr__(self, name: str) -> list[Any]:
        if name not in TABLES:
            raise AttributeError(name)
        record = make_dataclass(name, TABLES[name].names, frozen=True)
        floats = pl.col(pl.Float64).fill_null(NAN)
        found = list(starmap(record, self.frame(name).with_columns(floats).iter_rows()))
        setattr(self, name, found)
        return found

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *TABLES]


def write_csv(_: str, frame: Frame, file: IO[bytes]) -> None:
    """Write UTF-8: an unknown value is empty, numbers have all digits, no text is a formula."""
    floats = pl.col(pl.Float64).fill_nan(None)
    texts = pl.col(pl.String).map_elements(_csv_text, pl.String)
    frame.with_columns(floats, texts).write_csv(file)


@lru_cache
def _csv_text(text: str) -> str | None:
    return str(csv_cell(SECRETS.hide(text))) or None


def write_parquet(name: str, frame: Frame, file: IO[bytes]) -> None:
    """Write a file whose metadata ``milabench`` is the meaning and the unit of each column."""
    about = {each.name: [each.meaning, each.unit] for each in TABLES[name].columns}
    frame.write_parquet(file, metadata={"milabench": encode(about).decode()})


FILE_KINDS: Mapping[str, Callable[[str, Frame, IO[bytes]], None]] = {
    "csv": write_csv,
    "parquet": write_parquet,
}


def write_tables(
    words: Iterable[str], kind: str, paths: Mapping[str, Path], *, overwrite: bool = False
) -> dict[str, int]:
    """Write tables of runs, each to its file, which is replaced once it is complete.

    Args:
        words: the runs: folders, folders of runs, globs.
        kind: one of ``FILE_KINDS``.

    Returns:
        how many lines each table has.

    Raises:
        RunDirError: a run cannot be read, or a file cannot be written.
    """
    for path in () if overwrite else paths.values():
        if path.is_file() and path.stat().st_size and not _is_ours(kind, path):
            refuse(path)
    found, counts = RunTables(words), {}
    for name, path in paths.items():
        frame = found.frame(name)
        counts[name] = frame.height
        content = BytesIO()  # so that the system's error is told, of a full disk say
        FILE_KINDS[kind](name, frame, content)
        with whole(path) as part:
            part.write_bytes(content.getbuffer())
    return counts


def _is_ours(kind: str, path: Path) -> bool:
    try:
        with disk_errors("read", path):
            if kind == "csv":
                with open_file(path) as file:
                    names = file.readline(HEAD).decode(errors="replace").rstrip().split(",")
            else:
                names = list(pl.read_parquet_schema(path))
    except pl.exceptions.PolarsError:
        return False
    return names in [table.names for table in TABLES.values()]
