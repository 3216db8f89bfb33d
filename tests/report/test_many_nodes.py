"""What a report costs for each node does not grow with the number of nodes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.formats import FORMATS
from milabench_ddp.report.tables import TABLES
from tests.support.calls import calls_of, grown_faster
from tests.support.result_files import (
    end,
    job,
    line,
    sampled,
    start,
    steps,
    timed_rates,
    told,
    write,
)
from tests.support.validated_runs import TAGS, alone

COMM = {"op": "all_reduce", "backend": "nccl", "dtype": "bf16", "ranks": 8, "bytes": 1024}


def validation(folder: Path, nodes: int) -> Path:
    """Devices by themselves, each node by itself, and all together; every fourth node fails."""
    alone(folder, {(f"n{node}", 0): 100.0 for node in range(nodes)})
    clocks = {"sm_clock": 1500.0, "clock_reasons": ["sw_power_cap"], "power": 600.0}
    for node in range(nodes):
        meta = line("meta", {"node": f"n{node}", "accelerators": {"arch": "cuda", "gpus": {}}})
        samples = "".join(sampled(1002.5 + k, d0=clocks) for k in range(3))
        rates = timed_rates([100.0] * 8, rank=0)
        comm = told(comm={**COMM, "bus_gb_s": 300.0, "algorithm_gb_s": 200.0})
        tag = ["reduce", "0", f"n{node}"]
        own = job("reduce", plan={"method": "njobs", "n": 1, "each": "node"}, tags=TAGS, tag=tag)
        ended = end(int(node % 4 == 0))
        write(folder, ".".join(tag), own, meta, start(), samples, comm, rates, ended)
        tag = ["train", "0", f"n{node}", *(["nolog"] if node else [])]
        every = job("train", 1, nodes, tags=TAGS, tag=tag)
        ranks = "" if node else "".join(steps(rank, [9.0] * 8) for rank in range(nodes))
        written = samples, ranks, "" if node else rates
        write(folder, ".".join(tag), every, meta, start(), *written, end())
    return folder


def test_no_function_of_a_report_is_called_more_for_each_node_where_there_are_more(
    tmp_path: Path,
) -> None:
    def work(nodes: int) -> Callable[[], object]:
        folder = validation(tmp_path / str(nodes), nodes)

        def made() -> None:
            report = report_of([folder])
            for format in FORMATS.values():
                format.report(report)
            for table in TABLES.values():
                table(report.rows)

        return made

    assert grown_faster(work, 8) == {}


@pytest.mark.parametrize("power", [1, 2])
def test_calls_tell_what_is_quadratic(power: int) -> None:
    report = report_of([])

    def work(count: int) -> Callable[[], object]:
        return lambda: [report.passed for _ in range(count**power)]

    assert bool(grown_faster(work, 8)) is (power == 2)
    assert calls_of(work(8))
