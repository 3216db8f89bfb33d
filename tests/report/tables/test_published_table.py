"""Ours beside what others published, from made-up runs whose nearest row is known."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import asdict

from milabench_ddp.config.published import publications
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.nearest_row import nearest
from milabench_ddp.report.tables.published_table import COLUMNS, ours_of, published
from milabench_ddp.table import Table
from tests.support.result_files import config, end, job, line, rates, start, told, write

OK = end(0, outcome="ok", reason="")
H100 = "NVIDIA H100 80GB HBM3"
LLAMA = {"name": "llama3-8b", "mode": "fsdp", "ranks": 8, "batch_size": 2, "size": 8192}
LLAMA |= {"activation": "selective"}


def meta(product: str, count: int = 8) -> str:
    gpus = {str(k): {"product": product} for k in range(count)}
    return line("meta", {"accelerators": {"arch": "cuda", "gpus": gpus},
                         "pytorch": {"torch": "2.15.0"}})  # fmt: skip


def trained(
    folder: Path,
    rate: float,
    product: str = H100,
    dtype: str = "bf16",
    ended: str = OK,
    **facts: Any,
) -> Table:
    """A training of 8 ranks unless told otherwise; ``rate`` is that of one GPU."""
    model = LLAMA | facts
    units = "images/s" if model["name"] == "resnet50" else "tokens/s"
    values = rates([rate * model["ranks"]] * 70, units=units)
    done = told(model=model, compute_dtype=dtype)
    write(folder, "b.0", job("b", 8), meta(product), start(), values, done, ended)
    return published(report_of([folder]).rows)


def shown(table: Table) -> dict[str, Any]:
    (row,) = table.rows
    return dict(zip((column.name for column in COLUMNS), row, strict=True))


@pytest.mark.parametrize(
    ("facts", "value", "differences"),
    [
        ({}, 5762, "theirs: H100 with 96 GB of HBM2e, at 500 W"),
        ({"compile": "inductor"}, 6667, "theirs: H100 with 96 GB of HBM2e, at 500 W"),
        ({"ranks": 64}, 5605, "gpus 64, not 128; theirs: H100 with 96 GB"),
        ({"ranks": 24}, 5762, "gpus 24, not 8; theirs: H100 with 96 GB"),
        ({"batch_size": 1}, 5762, "batch 1, not 2; theirs: H100"),
        ({"dtype": "fp8", "compile": "inductor"}, 8532, "theirs: H100 with"),
        ({"dtype": "fp8", "compile": "inductor", "product": "NVIDIA H200"}, 10938,
         "gpus 8, not 32; theirs: FSDP gathers weights in fp8"),
        ({"activation": "checkpoint"}, 5762, "activation checkpoint, not selective; theirs: H100"),
        ({"product": "NVIDIA A100-SXM4-80GB", "ranks": 8}, 2973, "gpus 8, not 64; batch 2, not 1"),
        ({"name": "GPT1B", "size": 2048, "batch_size": 14, "vocabulary": 3072}, 45455,
         "activation selective, not noop; vocabulary 3,072, not 50,368; theirs: the head is"),
        ({"name": "resnet50", "mode": "single", "ranks": 1, "batch_size": 256, "size": 224,
          "dtype": "fp16"}, 3968.86, "batch 256, not 248; theirs: autocast to fp16"),
        ({"ended": end(0, outcome="failed", reason="the loss became NaN")}, 5762,
         "ours failed; theirs: H100"),
    ],
)  # fmt: skip
def test_the_nearest_row(
    tmp_path: Path, facts: dict[str, Any], value: float, differences: str
) -> None:
    """Twice as fast as the row whose conditions are most like ours."""
    row = shown(trained(tmp_path, 2 * value, **facts))
    assert (row["published"], float(row["ratio"])) == (value, pytest.approx(2))
    assert row["differs in"].startswith(differences)
    assert (row["our torch"], row["source"][:19]) == ("2.15.0", "https://github.com/")


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"name": "hf_Bert"}, "none has model hf_Bert, only GPT1B, all_reduce, llama3-70b, "
         "llama3-8b, matrix product, resnet50"),
        ({"mode": "tp"}, "none has strategy tp, only ddp, fsdp"),
        ({"dtype": "fp32"}, "none has precision fp32, only bf16, fp8"),
        ({"product": "AMD Instinct MI300X"},
         "none has family CDNA 3, only Ampere, Hopper"),
        ({"product": "Intel(R) Xeon(R)"},
         "none has family Intel(R) Xeon(R), only Ampere, Hopper"),
        ({"size": 1024}, "none has size 1,024, only 8,192"),
    ],
)  # fmt: skip
def test_what_is_too_far_is_refused(tmp_path: Path, facts: dict[str, Any], reason: str) -> None:
    table = trained(tmp_path, 1000.0, **facts)
    assert (table.rows, table.notes) == ((), (f"(no published row is near: b: {reason})",))


@pytest.mark.parametrize(
    ("ranks", "nodes", "largest", "found"),
    [
        (8, 1, 2**30, 467.85), (8, 1, 2**33, 477.1), (8, 1, 2**24, 238.61),
        (8, 1, 2**20, "none has size 1,048,576, only 1,073,741,824, 16,777,216, 4,294,967,296"),
        (4, 1, 2**30, "none has gpus 4, only 8"),
        (8, 2, 2**30, "none has model all_reduce over 2 nodes, only GPT1B, all_reduce, "
                      "llama3-70b, llama3-8b, matrix product, resnet50"),
    ],
)  # fmt: skip
def test_a_collective_by_its_largest_size(
    tmp_path: Path, ranks: int, nodes: int, largest: int, found: float | str
) -> None:
    row = {"op": "all_reduce", "backend": "nccl", "dtype": "fp32", "ranks": ranks}
    sizes = [told(comm=row | {"bytes": size, "bus_gb_s": bus})
             for size, bus in ((2**10, 1.0), (largest, 440.0))]  # fmt: skip
    write(tmp_path, "c.0", job("c", ranks // nodes, nodes), meta(H100), start(), *sizes,
          rates([440.0] * 70, units="GB/s"), OK)  # fmt: skip
    table = published(report_of([tmp_path]).rows)
    if isinstance(found, str):
        assert table.notes == (f"(no published row is near: c: {found})",)
    else:
        assert table.rows[0][:3] == ("c", 440.0, found)


def test_matrix_products(tmp_path: Path) -> None:
    for dtype in ("fp8", "fp32"):
        settings = config(f"f-{dtype}", device=0, argv={"--dtype": dtype})
        write(tmp_path, f"f-{dtype}.D0", settings, meta(H100), start(),
              rates([1400.0] * 70, units="TFLOP/s"), OK)  # fmt: skip
    table = published(report_of([tmp_path]).rows)
    assert [row[:3] for row in table.rows] == [("f-fp8", 1400.0, 1402.6)]
    assert table.notes == ("(no published row is near: f-fp32: none has precision fp32, only bf16, "
                           "fp8)",)  # fmt: skip


def test_each_published_row_is_nearest_to_itself(tmp_path: Path) -> None:
    """A run as the row has it differs in nothing but its software."""
    for k, row in enumerate(row for table in publications() for row in table.rows):
        if row.strategy is None or row.compile is None:
            continue
        facts = {"name": row.model, "mode": row.strategy, "ranks": row.gpus, "size": row.size}
        facts |= {"batch_size": row.batch, "activation": row.activation, "compile": row.compile}
        products = {"H100 SXM": H100, "A100 SXM": "NVIDIA A100-SXM4-80GB", "H200": "NVIDIA H200"}
        folder = tmp_path / str(k)
        trained(folder, row.value, products[row.device], row.precision,
                **facts, vocabulary=row.vocabulary)  # fmt: skip
        (ours,) = ours_of(report_of([folder]).rows[0])
        found = nearest(ours)
        assert not isinstance(found, str)
        assert {name: found[name] for name in row.__struct_fields__} == asdict(row)


def test_damaged_facts_are_refused(tmp_path: Path) -> None:
    for name, wrong in (("a", {"size": -1}), ("b", {"name": ["x"]}), ("c", {"mode": None})):
        done = told(model=LLAMA | wrong, compute_dtype="bf16")
        row = told(comm={"op": "all_reduce", "dtype": "fp32", "bytes": 2**30})
        write(tmp_path, f"{name}.0", job(name, 8), meta(H100), start(), rates([8.0] * 70), done,
              row, OK)  # fmt: skip
    table = published(report_of([tmp_path]).rows)
    # a benchmark's own figure, and the collective of unknown ranks
    reasons = [note.split(": ", 2)[2].split(",")[0] for note in table.notes]
    assert sorted(reasons) == [
        "none has gpus 0", "none has model ['x']", "none has size -1", "none has strategy None"
    ]  # fmt: skip
    assert table.rows == ()


def test_a_benchmark_without_a_rate_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, "b.0", job("b"), meta(H100), start(), told(model=LLAMA), end(1))
    table = published(report_of([tmp_path]).rows)
    assert (table.rows, table.notes) == ((), ())
