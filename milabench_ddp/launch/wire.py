"""One line of the metrics channel -> an event; a garbled line is an event too."""

import json

from ..events import Data, Event, Note

_SHOWN = 500  # characters of a line that is no event


def parse(tag: str, time: float, line: bytes) -> Event:
    """``{"$event": ..., "$data": ...}`` is a Note of that name; any other object is Data."""
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return Note(tag, time, "binary", line.decode("utf-8", "backslashreplace")[:_SHOWN])
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        return Note(tag, time, "format_error", {"line": text.strip()[:_SHOWN], "error": str(error)})
    if not isinstance(value, dict):
        why = "not an object"
        return Note(tag, time, "format_error", {"line": text.strip()[:_SHOWN], "error": why})
    kind = value.get("$event")
    if kind is None:
        return Data(tag, time, value)
    data = value.get("$data")
    if kind == "data" and isinstance(data, dict):
        return Data(tag, time, data)
    return Note(tag, time, str(kind), data)
