"""The results of ``--check-correctness``, as a report shows them."""

from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.report.assemble import report_of
from tests.support.result_files import config, end, rates, start, told, write

RIGHT = {
    "ok": True,
    "gradient_error": 4.2e-07,
    "loss_error": 0.0,
    "replicas_equal": True,
    "tolerance": 0.0001,
    "reference": "single",
}
IN_BF16 = {
    **RIGHT,
    "precision": "fp64",
    "steps": 3,
    "covers": ["dropout", "batch norm"],
    "leaves_out": ["running statistics"],
    "in_own_types": {"precision": "bf16", "gradient_error": 0.0018, "tolerance": 0.0052},
}
WRONG = {**RIGHT, "ok": False, "gradient_error": 0.9}
DIFFER = "its gradients differ by 4.2e-07 (relative, at most 0.0001) from those of single"


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        ([None], []),
        ([RIGHT], [f"b: {DIFFER}"]),
        ([{**RIGHT, "precision": "fp64"}], [f"b: {DIFFER} in fp64"]),
        (
            [IN_BF16],
            [
                f"b: {DIFFER} in fp64 after 3 steps, with dropout and batch norm, running "
                "statistics not checked; in the first step in bf16 by 0.0018 (at most 0.0052)"
            ],
        ),
        ([{**RIGHT, "covers": 5, "in_own_types": "?"}], [f"b: {DIFFER}"]),  # damaged
        ([RIGHT] * 3, [f"b: {DIFFER} (3 processes)"]),
        (
            [RIGHT, WRONG, RIGHT],
            [
                f"b: {DIFFER} (2 processes)",
                "b: WRONG: its gradients differ by 0.9 (relative, at most 0.0001) from those of "
                "single: it does not train correctly, so its speed means nothing",
            ],
        ),
        (
            [{**WRONG, "gradient_error": None}],  # it was not a number
            [
                "b: WRONG: its gradients differ (relative, at most 0.0001) from those of single: "
                "it does not train correctly, so its speed means nothing",
            ],
        ),
    ],
)
def test_verdicts_are_told_once(
    tmp_path: Path, verdicts: list[dict[str, Any] | None], said: list[str]
) -> None:
    for device, verdict in enumerate(verdicts):
        settings = config("b", device=device, tag=["b", f"D{device}"])
        checked = told(correctness=verdict) if verdict else ""
        values = rates([100.0, 101.0, 100.0] * 10)
        write(tmp_path, f"b.D{device}", settings, start(), checked, values, end())
    made = report_of([tmp_path])
    assert [each for each in made.notes if "gradients" in each] == [
        sentence for sentence in said if "WRONG" not in sentence
    ]
    assert made.errors == [sentence for sentence in said if "WRONG" in sentence]
