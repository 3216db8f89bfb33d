from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.model import NAN, Row
from milabench_ddp.report.tables.program_tables import communication, curve, size_text
from tests.support.formats import table_text
from tests.support.result_files import end, job, line, rates, start, told, write


def row(comm: list[dict[str, Any]], fit: list[dict[str, Any]]) -> Row:
    tables = {"comm": tuple(comm), "comm_fit": tuple(fit)}
    return Row("c", 0, 1, 2, NAN, NAN, NAN, NAN, NAN, 1.0, tables=tables)


def of(bytes: Any, bus: Any, op: str = "all_reduce", ranks: int = 8) -> dict[str, Any]:
    return {"op": op, "backend": "nccl", "dtype": "bf16", "ranks": ranks, "bytes": bytes,
            "bus_gb_s": bus}  # fmt: skip


def test_medians_of_several_launches() -> None:
    told = [of(64, 1.0), of(64, 2.0), of(64, 9.0), of(8, 0.5)]
    fits = [{"op": "all_reduce", "alpha_us": a, "beta_gb_s": None} for a in (5.0, 6.0, 30.0)]
    (found,) = communication([row(told, fits)]).rows
    assert found[:6] == ("c", "all_reduce", "nccl", "bf16", "8", 6.0)
    assert found[6] != found[6]  # beta: not reported, so NaN
    assert found[8:] == ("64", 2.0)
    assert [(line[5], line[-1]) for line in curve([row(told, fits)]).rows] == [(8, 0.5), (64, 2.0)]


def test_where_the_line_does_not_hold() -> None:
    told = [of(size, 1.0) for size in (64, 1024, 4096)]
    fits = [
        {"op": "all_reduce", "alpha_us": 5.0, "worst_error": error, "worst_bytes": 64,
         "switches": switches}
        for error, switches in ((0.05, [1024]), (-0.35, [1024, 4096]), (0.2, []))
    ]  # fmt: skip
    assert communication([row(told, fits)]).notes == (
        "(c: all_reduce of 8 ranks changes at 1Ki: alpha is that of smaller sizes, beta of larger "
        "ones)",
        "(c: all_reduce of 8 ranks is not alpha + bytes / beta: 35% off at 64)",
    )
    assert communication([row(told, fits[:1] * 2 + [{"op": "all_reduce"}])]).notes[1:] == ()


def test_a_negative_alpha_of_an_old_run_is_no_latency() -> None:
    fits = [
        {"op": "all_reduce", "alpha_us": a, "beta_gb_s": b} for a, b in ((-3.0, 9.0), (4.0, 1.0))
    ]
    (found,) = communication([row([of(64, 1.0)], fits)]).rows
    assert found[5:7] == (4.0, 1.0)
    (found,) = communication([row([of(64, 1.0)], fits[:1])]).rows
    assert found[5] != found[5]  # NaN


@pytest.mark.parametrize(
    "fit", [{"switches": 3}, {"switches": ["x", None]}, {"worst_error": "x", "worst_bytes": 3}]
)
def test_damaged_fits_have_no_notes(fit: dict[str, Any]) -> None:
    assert communication([row([of(64, 1.0)], [{"op": "all_reduce", **fit}])]).notes == ()


def test_what_differs_is_not_mixed() -> None:
    told = [of(8, 1.0), of(8, 2.0, op="broadcast"), of(8, 3.0, ranks=16)]
    assert [line[-1] for line in communication([row(told, [])]).rows] == [1.0, 2.0, 3.0]


def test_damaged_payloads_are_left_out() -> None:
    assert communication([row([of("many", 1.0), {}], [])]).rows == ()


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0"), (1000, "1000"), (1024, "1Ki"), (3 << 20, "3Mi"), (1 << 30, "1Gi")],
)
def test_sizes(size: int, text: str) -> None:
    assert size_text(size) == text


@pytest.mark.parametrize(
    ("bus", "choice", "nodes", "shown", "note"),
    [
        (479.9, {"algorithm": "NVLS", "protocol": "Simple"}, 1, "| 106.6% | NVLS | Simple",
         "(c: all_reduce of 8 ranks has 479.9 GB/s on links of 450: NVLS, which adds in the "
         "switch, can reach that, a ring cannot)"),
        (479.9, {}, 1, "| 106.6%", "has 479.9 GB/s on links of 450: NVLS"),
        (367.6, {"algorithm": "Ring", "protocol": "Simple"}, 1, "| 81.7% | Ring | Simple", ""),
        (479.9, {}, 2, "479.9", ""),  # between nodes there are other links
    ],
)  # fmt: skip
def test_a_bus_bandwidth_above_the_links(
    tmp_path: Path, bus: float, choice: dict[str, str], nodes: int, shown: str, note: str
) -> None:
    gpus = {str(k): {"product": "NVIDIA H100 80GB HBM3"} for k in range(8)}
    meta = line("meta", {"accelerators": {"arch": "cuda", "gpus": gpus}})
    sizes = [told(comm=of(2**20, 68.0)), told(comm=of(2**34, bus) | choice)]
    parts = (job("c", 8, nodes), meta, start(), *sizes, rates([bus] * 9, units="GB/s"))
    write(tmp_path, "c.0", *parts, end(0, outcome="ok", reason=""))
    table = communication(report_of([tmp_path]).rows)
    assert shown in " ".join(table_text(table).replace("%  ", "% ").split())
    assert (note in "".join(table.notes), bool(table.notes)) == (True, bool(note))
