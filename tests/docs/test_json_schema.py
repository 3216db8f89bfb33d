"""The published schemas are those of the records, and hold what the encoder writes."""

import json
import math
import os
from pathlib import Path
from typing import Any

import pytest
from json_schema import SCHEMAS, schema_text

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.comparison.compare import comparison_of
from milabench_ddp.report.comparison.comparison_faces import FACES as COMPARISONS
from milabench_ddp.report.comparison.sides import Side
from milabench_ddp.report.formats import report_json
from tests.support.report_schema import REFERENCE, problems
from tests.support.result_files import RECORDED, config, end, rates, start, write

FIRST = RECORDED / "schema-1"


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_published_schema_is_that_of_the_records(name: str) -> None:
    """``UPDATE_GOLDEN=1`` writes it anew: raise ``SCHEMA`` if a reader could stumble over it."""
    path = REFERENCE / f"{name}.schema.json"
    if os.environ.get("UPDATE_GOLDEN") == "1":
        path.write_text(schema_text(name))
    assert path.read_text() == schema_text(name), "stale: UPDATE_GOLDEN=1 pytest writes it"


def parts(schema: Any) -> list[dict[str, Any]]:
    """All objects of a schema, the inner ones too."""
    if isinstance(schema, list):
        return [part for each in schema for part in parts(each)]
    if not isinstance(schema, dict):
        return []
    return [schema, *parts(list(schema.values()))]


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_number_may_be_null_and_no_field_is_left_out(name: str) -> None:
    found = parts(json.loads(schema_text(name)))
    assert all(part.get("type") != "number" for part in found)
    for part in found:
        if isinstance(part.get("properties"), dict) and part.get("type") == "object":
            assert part["required"] == list(part["properties"])


def test_the_units_and_meanings_are_in_the_schema() -> None:
    schema = json.loads(schema_text("report"))
    benchmark = schema["$defs"]["BenchmarkReport"]["properties"]
    assert benchmark["perf"]["description"] == "the mean rate over processes, in units/s"
    assert benchmark["peak_memory"]["description"].endswith("in MiB")
    told = [name for name, field in benchmark.items() if {"description", "items"} & {*field}]
    assert set(benchmark) == set(told)


def test_what_is_not_as_the_schema_says_is_found() -> None:
    document = json.loads(report_json(report_of([FIRST])))
    assert document["schema"] == 1
    assert problems(document) == []
    document["benchmarks"][0]["perf"] = "fast"
    del document["benchmarks"][1]["sem"]
    document["schema"] = 0
    places = [each.partition(":")[0] for each in problems(document)]
    assert places == ["benchmarks.0.perf", "benchmarks.1", "schema"]


def test_a_comparison_says_whether_a_threshold_was_given() -> None:
    side = Side.read(str(FIRST))
    for given in (None, 0.0, 0.03):
        document = json.loads(COMPARISONS["json"](comparison_of(side, side, given), []))
        assert (document["schema"], document["threshold"]) == (1, given)
        assert problems(document, "comparison") == []
    document["counts"]["slower"] = "many"
    del document["benchmarks"][0]["p_value"]
    places = [each.partition(":")[0] for each in problems(document, "comparison")]
    assert places == ["benchmarks.0", "counts.slower"]


@pytest.mark.parametrize("compat", [False, True])
def test_runs_without_numbers(tmp_path: Path, compat: bool) -> None:
    write(tmp_path, "a", config("a"), start(), rates([math.nan, math.inf]), end())
    assert problems(json.loads(report_json(report_of([tmp_path], compat_formulas=compat)))) == []
