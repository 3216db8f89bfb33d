import csv
import io
import json
import math
from pathlib import Path

from milabench_ddp.config.schema import SkippedBenchmark
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.formats import report_json
from tests.support.formats import report_csv
from tests.support.rates import noisy
from tests.support.result_files import config, end, rates, start, write, write_state

COLUMNS = [
    "benchmark",
    "fail",
    "n",
    "ngpu",
    "perf",
    "sem%",
    "std%",
    "peak_memory",
    "score",
    "weight",
]


def made(folder: Path) -> Path:
    skipped = [SkippedBenchmark("s", "no GPU")]
    write_state(folder, "failed", {"a": "ok", "b": "failed"}, skipped=skipped)
    steps = rates(noisy(60, 0.0, 1))
    write(folder, "a.D0", config("a", device=0), start(), steps, end(0, outcome="ok"))
    failed = end(1, outcome="failed", reason="exit status 1")
    write(folder, "b.D0", config("b", device=0), start(), failed, stderr="boom\n")
    return folder


def test_csv(tmp_path: Path) -> None:
    report = report_of([made(tmp_path)])
    rows = list(csv.DictReader(io.StringIO(report_csv(report))))
    assert set(rows[0]) == {*COLUMNS, "unit"}
    assert [row["benchmark"] for row in rows] == ["a", "b"]
    assert float(rows[0]["perf"]) == report.rows[0].perf  # every digit
    assert math.isnan(float(rows[1]["perf"]))
    assert rows[0]["unit"] == "items/s"


def test_json(tmp_path: Path) -> None:
    report = report_of([made(tmp_path)])
    data = json.loads(report_json(report))
    first, second = data["benchmarks"]
    assert (first["name"], first["state"], first["reason"]) == ("a", "ok", "")
    assert {name.rstrip("%") for name in COLUMNS[1:]} <= first.keys()
    assert first["perf"] == report.rows[0].perf
    assert first["sem"] == report.rows[0].sem
    assert first["std"] == report.rows[0].std
    assert (first["fail"], first["n"], first["peak_memory"]) == (0, 1, None)
    assert first["observations"] + first["warmup_detected"] == 60
    assert first["interval"][0] < first["perf"] < first["interval"][1]
    assert (second["perf"], second["fail"]) == (None, 1)
    assert (second["state"], second["reason"]) == ("failed", "exit status 1")
    assert second["processes"][0]["reason"] == "exit status 1"
    assert (data["score"], data["baseline"]) == (None, None)
    assert data["score_reason"] == "only a part of the suite was run, without s (s: no GPU)"
    assert (data["failure_rate"], data["passed"], data["warnings"]) == (0.5, False, [])
    (failure,) = data["failures"]
    assert (failure["benchmark"], failure["tag"], failure["rank"]) == ("b", "b.D0", None)
    assert (failure["lines"], failure["whole"]) == (["boom"], str(tmp_path / "b.D0.stderr"))
    (run,) = data["runs"]
    assert (run["path"], run["outcome"]) == (str(tmp_path), "failed")
    assert run["skipped"] == [{"name": "s", "reason": "no GPU", "kind": "unable"}]


def test_json_has_no_nan(tmp_path: Path) -> None:
    write(tmp_path, "a", config("a"), start(), rates([float("nan"), float("inf")]), end())
    for compat in (False, True):
        text = report_json(report_of([tmp_path], compat_formulas=compat))
        json.loads(text, parse_constant=lambda name: (_ for _ in ()).throw(ValueError(name)))
