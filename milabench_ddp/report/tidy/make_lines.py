"""Makes the lines about a run, its benchmarks, ranks, findings and events from its document."""

import shlex
from collections.abc import Iterator

from ...codec import encode
from ..document.benchmark_report import BenchmarkReport, RankReport
from ..energy import UNKNOWN
from ..statistics.values import NAN
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
        yield BenchmarkLine(
            run=of.folder,
            benchmark=benchmark.name,
            state=benchmark.state,
            reason=benchmark.reason,
            enabled=benchmark.enabled,
            weight=benchmark.weight,
            unit=benchmark.unit,
            fail=benchmark.fail,
            n=benchmark.n,
            ngpu=benchmark.ngpu,
            nodes=benchmark.nodes,
            perf=benchmark.perf,
            sem=benchmark.sem,
            std=benchmark.std,
            drift=benchmark.drift,
            score=benchmark.score,
            peak_memory=benchmark.peak_memory,
            settings=encode(benchmark.settings).decode(),
            interval_low=low,
            interval_high=high,
            interval_holds=benchmark.interval_holds,
            launches=benchmark.launches,
            observations=benchmark.observations,
            throughput=benchmark.throughput,
            efficiency=benchmark.efficiency,
            efficiency_error=benchmark.efficiency_error,
            step_ms=benchmark.step_ms,
            mfu=benchmark.mfu,
            hfu=benchmark.hfu,
            sm_clock=benchmark.sm_clock,
            held_down_by=benchmark.held_down_by,
            watts=energy.watts,
            joules=energy.joules,
            joules_error=energy.error,
        )


def rank_lines(of: ReportedRun) -> Iterator[RankLine]:
    """A line for each rank of each benchmark."""
    for benchmark in of.document.benchmarks:
        for rank in benchmark.ranks:
            yield _rank(of, benchmark, rank)


def _rank(of: ReportedRun, benchmark: BenchmarkReport, rank: RankReport) -> RankLine:
    items = rank.ledger_ms
    return RankLine(
        run=of.folder,
        benchmark=benchmark.name,
        name=rank.name,
        node=rank.node,
        job=rank.job,
        rank=rank.rank,
        steps=rank.steps,
        step_ms=rank.step_ms,
        step_ms_p95=rank.step_ms_p95,
        step_ms_std=rank.step_ms_std,
        wait_ms=rank.wait_ms,
        own_ms=rank.own_ms,
        memory_allocated=rank.memory_allocated,
        memory_reserved=rank.memory_reserved,
        data_ms=items.get("data", NAN),
        forward_ms=items.get("forward", NAN),
        backward_ms=items.get("backward", NAN),
        forward_backward_ms=items.get("forward_backward", NAN),
        optimizer_ms=items.get("optimizer", NAN),
        host_ms=items.get("host", NAN),
        communication_ms=items.get("communication", NAN),
        bubble_ms=items.get("bubble", NAN),
        waiting_ms=items.get("waiting", NAN),
        jitter_ms=items.get("jitter", NAN),
        hidden_ms=items.get("hidden", NAN),
    )


def finding_lines(of: ReportedRun) -> Iterator[FindingLine]:
    """A line for each finding, the worst first."""
    for finding in of.document.findings:
        yield FindingLine(
            run=of.folder,
            benchmark=finding.benchmark,
            severity=str(finding.severity),
            name=finding.name,
            place=finding.place,
            sentence=finding.sentence,
            advice=finding.advice,
        )
