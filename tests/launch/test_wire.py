import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.events import Data, Note
from milabench_ddp.launch.wire import parse


def test_an_object_is_data():
    assert parse("b", 1.0, b'{"task": "train", "rate": 2.0}\n') == Data(
        "b", 1.0, {"task": "train", "rate": 2.0}
    )


def test_voir_names_its_events():
    line = b'{"$event": "phase", "$data": {"name": "init"}}\n'
    assert parse("b", 1.0, line) == Note("b", 1.0, "phase", {"name": "init"})
    wrapped = b'{"$event": "data", "$data": {"rate": 1}}'
    assert parse("b", 1.0, wrapped) == Data("b", 1.0, {"rate": 1})


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (b"no json", "format_error"),
        (b"[1]", "format_error"),
        (b"\xff{}", "binary"),
        (b"\n", "format_error"),
    ],
)
def test_what_is_no_event_says_so(line: bytes, kind: str):
    event = parse("b", 1.0, line)
    assert isinstance(event, Note)
    assert event.kind == kind


@given(st.binary())
def test_nothing_raises_and_everything_can_be_written_down(line: bytes):
    event = parse("b", 1.0, line)
    json.dumps(event.payload if isinstance(event, Data) else event.data)
