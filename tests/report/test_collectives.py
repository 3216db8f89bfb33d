"""Operations over sizes: what belongs together, and what NCCL chose for the largest size."""

import math
from typing import Any

from milabench_ddp.report.collectives import operations_of
from milabench_ddp.report.model import NAN, Row


def row(*comm: dict[str, Any], fits: tuple[dict[str, Any], ...] = ()) -> Row:
    tables = {"comm": comm, "comm_fit": fits}
    return Row("c", 0, 1, 2, NAN, NAN, NAN, NAN, NAN, 1.0, tables=tables)


def of(size: object, bus: float, algorithm: str = "Ring", op: str = "all_reduce") -> dict[str, Any]:
    return {"op": op, "backend": "nccl", "dtype": "fp32", "ranks": 8, "bytes": size,
            "bus_gb_s": bus, "algorithm": algorithm}  # fmt: skip


def test_each_operation_has_its_sizes_and_the_medians_of_launches() -> None:
    told = [of(8, 1.0, "Tree"), of(64, 5.0), of(64, 7.0), of(64, 30.0), of(64, 2.0, op="broadcast")]
    reduce, broadcast = operations_of(row(*told, of("64", 9.0), of(None, 9.0)))
    assert (reduce.sizes, reduce.bus, reduce.value(8, "bus_gb_s")) == ([8, 64], 7.0, 1.0)
    assert reduce.chosen("algorithm") == "Ring"  # that of the largest size
    assert (broadcast.key[0], broadcast.bus) == ("broadcast", 2.0)


def test_fits_are_those_of_the_operation_and_have_no_negative_latency() -> None:
    fits = (
        {"op": "all_reduce", "alpha_us": -1.0, "beta_gb_s": 9.0},
        {"op": "all_reduce", "alpha_us": 3.0, "beta_gb_s": 4.0},
        {"op": "broadcast", "alpha_us": 8.0, "beta_gb_s": 8.0},
    )
    (reduce,) = operations_of(row(of(64, 5.0), fits=fits))
    assert (reduce.fit("alpha_us"), reduce.fit("beta_gb_s")) == (3.0, 4.0)
    assert math.isnan(reduce.links)
    (without,) = operations_of(row(of(64, 5.0)))
    assert math.isnan(without.fit("beta_gb_s"))
