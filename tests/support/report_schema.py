"""Checks reports against the published schema of their JSON."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs

from milabench_ddp.report.formats import report_json
from milabench_ddp.report.model import Report

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"


@cache
def validator(name: str) -> Any:
    """The validator of a schema in ``docs/reference``."""
    schema = json.loads((REFERENCE / f"{name}.schema.json").read_text())
    jsonschema_rs.meta.validate(schema)
    return jsonschema_rs.validator_for(schema)


def check_report(report: Report) -> None:
    """Assert that the JSON of a report is as its schema says."""
    text = report_json(report)
    assert problems(json.loads(text)) == []


def problems(document: Any, name: str = "report") -> list[str]:
    """What in a document is not as the schema says: each place, and what is wrong there."""
    found = []
    for error in validator(name).iter_errors(document):
        place = ".".join(map(str, error.instance_path))
        found.append(f"{place}: {error.message[:200]}")
    return sorted(found)
