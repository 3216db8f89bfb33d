"""Ours beside what others published, from made-up runs whose nearest row is known."""

from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.config.published import publications
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.tables.published import COLUMNS, nearest, ours_of, published
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
    folder: Path, rate: float, product: str = H100, dtype: str = "bf16", **facts: Any
) -> Table:
    """A training of 8 ranks unless told otherwise; ``rate`` is that of one GPU."""
    model = LLAMA | facts
    units = "images/s" if model["name"] == "resnet50" else "tokens/s"
    values = rates([rate * model["ranks"]] * 70, units=units)
    done = told(model=model, compute_dtype=dtype)
    write(folder, "b.0", job("b", 8), meta(product), start(), values, done, OK)
    return published(report_of([folder]).rows)


def shown(table: Table) -> dict[str, Any]:
    (row,) = table.rows
    return dict(zip((column.name for column in COLUMNS), row, strict=True))


@pytest.mark.parametrize(
    ("facts", "value", "differences"),
    [
        ({}, 5762, "H100 with 96 GB of HBM2e, at 500 W"),
        ({"compile": "inductor"}, 6667, "H100 with 96 GB of HBM2e, at 500 W"),
        ({"ranks": 64}, 5605, "GPUs 64, not 128; H100 with 96 GB"),
        ({"ranks": 24}, 5762, "GPUs 24, not 8; H100 with 96 GB"),
        ({"batch_size": 1}, 5762, "batch 1, not 2; H100"),
        ({"dtype": "fp8", "compile": "inductor"}, 8532, "H100 with"),
        ({"dtype": "fp8", "compile": "inductor", "product": "NVIDIA H200"}, 10938,
         "GPUs 8, not 32; FSDP gathers weights in fp8"),
        ({"activation": "checkpoint"}, 5762, "activation checkpoint, not selective; H100"),
        ({"product": "NVIDIA A100-SXM4-80GB", "ranks": 8}, 2973, "GPUs 8, not 64; batch 2, not 1"),
        ({"name": "GPT1B", "size": 2048, "batch_size": 14, "vocabulary": 3072}, 45455,
         "activation selective, not noop; vocabulary 3,072, not 50,368; the head is the embedding"),
        ({"name": "resnet50", "mode": "single", "ranks": 1, "batch_size": 256, "size": 224,
          "dtype": "fp16"}, 3968.86, "batch 256, not 248; autocast to fp16"),
    ],
)  # fmt: skip
def test_the_nearest_row(
    tmp_path: Path, facts: dict[str, Any], value: float, differences: str
) -> None:
    """Twice as fast as the row whose conditions are most like ours."""
    row = shown(trained(tmp_path, 2 * value, **facts))
    assert (row["published"], float(row["ratio"])) == (value, pytest.approx(2))
    assert row["differs in"].startswith(differences)
    assert (row["our software"], row["source"][:19]) == ("torch 2.15.0", "https://github.com/")


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"name": "hf_Bert"}, "none is of hf_Bert"),
        ({"mode": "tp"}, "those of llama3-8b have strategy ddp, fsdp, not tp"),
        ({"dtype": "fp32"}, "those of llama3-8b have precision bf16, fp8, not fp32"),
        ({"product": "AMD Instinct MI300X"},
         "those of llama3-8b have devices Ampere, Hopper, not CDNA 3"),
        ({"product": "Intel(R) Xeon(R)"},
         "those of llama3-8b have devices Ampere, Hopper, not Intel(R) Xeon(R)"),
        ({"size": 1024}, "those of llama3-8b have size 8,192, not 1,024"),
    ],
)  # fmt: skip
def test_what_is_too_far_is_refused(tmp_path: Path, facts: dict[str, Any], reason: str) -> None:
    table = trained(tmp_path, 1000.0, **facts)
    assert (table.rows, table.notes) == ((), (f"(no published row is near: b: {reason})",))


def test_matrix_products_and_collectives(tmp_path: Path) -> None:
    """All-reduce of 8 H100 at four sizes, of which three were published; of 4 GPUs none was."""
    argv = {"--dtype": "fp8"}
    write(tmp_path, "flops.D0", config("flops", device=0, argv=argv), meta(H100), start(),
          rates([1400.0] * 70, units="TFLOP/s"), OK)  # fmt: skip
    for ranks in (8, 4):
        sizes = []
        for size, bus in ((2**20, 68.0), (2**24, 200.0), (2**30, 440.0), (2**32, 470.0)):
            row = {"op": "all_reduce", "backend": "nccl", "dtype": "fp32", "ranks": ranks}
            sizes.append(told(comm=row | {"bytes": size, "bus_gb_s": bus}))
        name = f"comm-{ranks}"
        write(tmp_path, f"{name}.0", job(name, ranks), meta(H100), start(), *sizes,
              rates([470.0] * 70, units="GB/s"), OK)  # fmt: skip
    table = published(report_of([tmp_path]).rows)
    found = [(row[0], float(row[1]), row[2]) for row in table.rows]
    assert sorted(found) == [
        ("comm-8", 200.0, 238.61), ("comm-8", 440.0, 467.85), ("comm-8", 470.0, 477.1),
        ("flops", 1400.0, 1402.6),
    ]  # fmt: skip
    assert table.notes == (
        "(no published row is near: comm-4: those of all_reduce are of 8 GPUs, not 4)",
    )


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
        assert found.row is row
        assert found.differences == found.publication.note


def test_a_benchmark_without_a_rate_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, "b.0", job("b"), meta(H100), start(), told(model=LLAMA), end(1))
    table = published(report_of([tmp_path]).rows)
    assert (table.rows, table.notes) == ((), ())
