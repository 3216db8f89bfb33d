"""The JSON schemas of the documents that milabench writes, made from the types of their records.

They are published in ``docs/reference``; the version of each is in its records' field ``schema``.
"""

from collections.abc import Mapping
from inspect import cleandoc
from pathlib import Path

import msgspec

from milabench_ddp.codec import encode_indented
from milabench_ddp.report.comparison.comparison_model import Comparison
from milabench_ddp.report.document import ReportDocument
from milabench_ddp.report.history.history_document import HistoryDocument
from milabench_ddp.report.prediction.prediction_table import PredictionDocument

DIALECT = "https://json-schema.org/draft/2020-12/schema"
SCHEMAS: Mapping[str, type] = {
    "report": ReportDocument,
    "prediction": PredictionDocument,
    "comparison": Comparison,
    "history": HistoryDocument,
}
"""The records with a published schema, by its name: ``docs/reference/<name>.schema.json``."""


def schema_text(name: str) -> str:
    """The schema of one of ``SCHEMAS``, as a JSON text with a newline at its end."""
    (found,), parts = msgspec.json.schema_components(
        [SCHEMAS[name]], schema_hook=_path_as_text, ref_template="#/$defs/{name}"
    )
    head = {"$schema": DIALECT, "title": f"milabench {name}"}
    return encode_indented({**head, **found, "$defs": _as_written(parts)}).decode()


def _path_as_text(kind: type) -> dict[str, object]:
    if issubclass(kind, Path):
        return {"type": "string"}
    raise NotImplementedError  # as msgspec asks of a hook that does not know the type


def _as_written(part: object) -> object:
    """A part of a schema as our encoder writes the values: NaN as null, and no field left out."""
    if isinstance(part, list):
        return [_as_written(each) for each in part]
    if not isinstance(part, dict):
        return part
    found = {key: _as_written(value) for key, value in part.items() if key != "default"}
    if part.get("type") == "number":
        found["type"] = ["number", "null"]
    if isinstance(part.get("properties"), dict):
        found["required"] = list(part["properties"])
    if isinstance(part.get("description"), str):
        found["description"] = cleandoc(part["description"])
    return found
