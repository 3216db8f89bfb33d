"""Makes the lines about a run, its benchmarks, ranks, findings and events from its document."""

import shlex
from collections.abc import Iterator

from ...codec import encode
from ..document.document import filled
from ..energy import UNKNOWN
from ..statistics.values import NAN
from ..tables.ledger_table import HIDDEN, ITEMS
from .lines import BenchmarkLine, FindingLine, RankLine, RunLine
from .read_runs import ReportedRun


def run_lines(of: ReportedRun) -> Iterator[RunLine]:
    """The line of a run."""
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


def benchmark_lines(of: ReportedRun) -> Iterator[BenchmarkLine]:
    """A line for each benchmark."""
    for benchmark in of.document.benchmarks:
        low, high = benchmark.interval or (NAN, NAN)
        energy = benchmark.energy or UNKNOWN
        yield filled(
            BenchmarkLine,
            benchmark,
            run=of.folder,
            benchmark=benchmark.name,
            settings=encode(benchmark.settings).decode(),
            interval_low=low,
            interval_high=high,
            watts=energy.watts,
            joules=energy.joules,
            joules_error=energy.error,
        )


def rank_lines(of: ReportedRun) -> Iterator[RankLine]:
    """A line for each rank of each benchmark."""
    for benchmark in of.document.benchmarks:
        for rank in benchmark.ranks:
            items = {f"{name}_ms": rank.ledger_ms.get(name, NAN) for name in (*ITEMS, HIDDEN)}
            yield filled(RankLine, rank, run=of.folder, benchmark=benchmark.name, **items)


def finding_lines(of: ReportedRun) -> Iterator[FindingLine]:
    """A line for each finding, the worst first."""
    for finding in of.document.findings:
        severity = str(finding.severity)
        yield filled(FindingLine, finding, run=of.folder, severity=severity)
