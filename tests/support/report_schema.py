"""Checks what is written as JSON against its published schema."""

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import jsonschema_rs

from milabench_ddp.report.comparison.comparison_faces import FACES as COMPARISONS
from milabench_ddp.report.formats import report_json
from milabench_ddp.report.history.history_faces import FACES as HISTORIES
from milabench_ddp.report.prediction.prediction_table import prediction_json

T = TypeVar("T")

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"


@cache
def validator(name: str) -> Any:
    """The validator of a schema in ``docs/reference``."""
    schema = json.loads((REFERENCE / f"{name}.schema.json").read_text())
    jsonschema_rs.meta.validate(schema)
    return jsonschema_rs.validator_for(schema)


WRITERS: Mapping[str, Callable[[Any], str]] = {
    "report": report_json,
    "comparison": lambda found: COMPARISONS["json"](found, []),
    "history": HISTORIES["json"],
    "prediction": lambda found: prediction_json([found]),
}


def checked(name: str, make: Callable[..., T]) -> Callable[..., T]:
    """A function that makes something of a schema, and asserts that its JSON is as that says."""

    def made_and_checked(*given: Any, **named: Any) -> T:
        made = make(*given, **named)
        assert problems(json.loads(WRITERS[name](made)), name) == []
        return made

    return made_and_checked


def problems(document: Any, name: str = "report") -> list[str]:
    """What in a document is not as the schema says: each place, and what is wrong there."""
    found = []
    for error in validator(name).iter_errors(document):
        place = ".".join(map(str, error.instance_path))
        found.append(f"{place}: {error.message[:200]}")
    return sorted(found)
