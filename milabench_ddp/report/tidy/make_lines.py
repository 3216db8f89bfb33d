"""Makes the lines about a run, its benchmarks, ranks, findings and events from its document."""

import shlex
from collections.abc import Iterator

from msgspec import Struct

from ..document.document import filled
from ..document.make_document import benchmarks_of
from ..fields import IN_EXPORT, values_of
from ..rank_fields import IN_EXPORT as RANK
from ..tables.ledger_table import ranks_of
from .lines import BenchmarkLine, FindingLine, RankLine, RunLine
from .read_runs import ReportedRun


def run_lines(of: ReportedRun) -> Iterator[RunLine]:
    for run in of.document.runs:
        yield RunLine(
            run=of.folder,
            name=run.name,
            outcome=run.outcome or None,
            preset=run.preset,
            started=run.started,
            seconds=run.seconds,
            command=shlex.join(run.command),
            host=run.host,
            devices=run.facts.get("devices"),
            device_memory=run.facts.get("device memory"),
            power_limit=run.facts.get("power limit"),
            ecc=run.facts.get("ECC"),
            cpu=run.facts.get("CPU"),
            driver=run.facts.get("driver"),
            torch=run.facts.get("torch"),
            cuda=run.facts.get("CUDA"),
            rocm=run.facts.get("ROCm"),
            nccl=run.facts.get("NCCL"),
            cudnn=run.facts.get("cuDNN"),
            triton=run.facts.get("triton"),
            python=run.facts.get("Python"),
            milabench=run.facts.get("milabench"),
            commit=run.facts.get("milabench commit"),
            environment=run.facts.get("environment"),
        )


def benchmark_lines(of: ReportedRun) -> Iterator[Struct]:
    """A ``BenchmarkLine`` for each benchmark."""
    for benchmark in benchmarks_of(of.report):
        values = values_of(IN_EXPORT, benchmark)
        yield BenchmarkLine(run=of.folder, benchmark=benchmark.row.name, **values)


def rank_lines(of: ReportedRun) -> Iterator[Struct]:
    """A ``RankLine`` for each rank of each benchmark."""
    for row in of.report.rows:
        for rank in ranks_of(row):
            yield RankLine(run=of.folder, benchmark=row.name, **values_of(RANK, rank))


def finding_lines(of: ReportedRun) -> Iterator[FindingLine]:
    """A line for each finding, the worst first."""
    for finding in of.document.findings:
        severity = str(finding.severity)
        yield filled(FindingLine, finding, run=of.folder, severity=severity)
