import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.events import OWN_EVENTS, Data, Event, Metrics, Note
from milabench_ddp.launch.channel import (
    LONGEST_LINE,
    Fifo,
    LineBuffer,
    parse_line,
    parse_lines,
)
from tests.support.supervised import singly

chunks = st.lists(st.text("ab\n", max_size=6).map(str.encode))


@given(chunks)
def test_lines_do_not_depend_on_how_the_bytes_arrive(parts: list[bytes]):
    buffer = LineBuffer()
    lines = [line for part in parts for line in buffer.feed(part)]
    if rest := buffer.rest():
        lines.append(rest)
    assert lines == b"".join(parts).splitlines(keepends=True)


def test_a_line_that_never_ends_is_handed_over_in_pieces():
    buffer = LineBuffer()
    assert list(buffer.feed(b"x" * LONGEST_LINE)) == []
    assert [len(line) for line in buffer.feed(b"x")] == [LONGEST_LINE + 1]
    assert buffer.rest() == b""


def test_a_pipe_outlives_its_writers_and_is_gone_when_closed(tmp_path: Path):
    fifo = Fifo(tmp_path / "metrics.0")
    for text in (b"one", b"two"):
        fifo.path.write_bytes(text)
        assert os.read(fifo.fd, 100) == text
    with pytest.raises(BlockingIOError):  # empty, not ended
        os.read(fifo.fd, 100)
    writer = os.open(fifo.path, os.O_WRONLY)
    fifo.close()
    assert not fifo.path.exists()
    with pytest.raises(BrokenPipeError):
        os.write(writer, b"late")
    os.close(writer)


def test_an_object_is_data():
    assert parse_line("b", 1.0, b'{"task": "train", "rate": 2.0}\n') == Data(
        "b", 1.0, {"task": "train", "rate": 2.0}
    )


def test_voir_names_its_events():
    line = b'{"$event": "phase", "$data": {"name": "init"}}\n'
    assert parse_line("b", 1.0, line) == Note("b", 1.0, "phase", {"name": "init"})
    wrapped = b'{"$event": "data", "$data": {"rate": 1}}'
    assert parse_line("b", 1.0, wrapped) == Data("b", 1.0, {"rate": 1})


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (b"no json", "format_error"),
        (b"[1]", "format_error"),
        (b"\xff{}", "binary"),
        (b"\n", "format_error"),
    ],
)
def test_a_line_that_cannot_be_read_says_so(line: bytes, kind: str):
    event = parse_line("b", 1.0, line)
    assert isinstance(event, Note)
    assert event.kind == kind


@given(st.binary())
def test_nothing_raises_and_everything_can_be_written_down(line: bytes):
    event = parse_line("b", 1.0, line)
    json.dumps(event.payload if isinstance(event, Data) else event.data)


@pytest.mark.parametrize("event", sorted(OWN_EVENTS))
def test_what_only_we_write_is_not_taken_from_a_program(event: str) -> None:
    line = json.dumps({"$event": event, "$data": {"name": "another"}})
    found = parse_line("b.D0", 1.0, line.encode())
    assert isinstance(found, Note)
    assert (found.kind, found.data["error"]) == (
        "format_error",
        f"only milabench writes the event `{event}`",
    )


@pytest.mark.parametrize("wrapped", [False, True])
def test_keys_that_only_we_write_keep_the_name_of_who_wrote_them(wrapped: bool) -> None:
    payload = {"rate": 1.0, "gpudata": {"0": {}}, "hostdata": {}, "arrived": 5.0}
    value = {"$event": "data", "$data": payload} if wrapped else payload
    found = parse_line("b.D0", 1.0, json.dumps(value).encode())
    assert isinstance(found, Data)
    assert [*found.payload] == ["rate", "program.gpudata", "program.hostdata", "program.arrived"]


whole_lines = st.lists(
    st.sampled_from(
        [
            b'{"task": "train", "rate": 1.5}',
            b'{"rate": 2, "rank": 3, "warmup": true}',
            b'{"loss": 1}',
            b'{"loss": NaN}',
            b"{}",
            b'{"$event": "ready", "$data": {}}',
            b'{"gpudata": {}}',
            b'{"a": {',
            b'"b": 1}}',
            b'{"a": 1}{"b": 2}',
            b"\xff",
            b"not json",
            b"",
            b'{"a": 1}\r',
            '{"units": "µs"}'.encode(),
        ]
    ),
    max_size=30,
)


@given(whole_lines, st.sampled_from([b"", b"{", b'{"rate": 1}']))
def test_lines_together_are_as_each_by_itself(lines: list[bytes], rest: bytes):
    """Damaged ones among them, and one without its end."""
    text = b"".join(line + b"\n" for line in lines) + rest
    together: list[Event] = []
    for event in parse_lines("b", 1.0, text):
        together += singly(event)
    alone = [parse_line("b", 1.0, line + b"\n") for line in lines]
    if rest:
        alone.append(parse_line("b", 1.0, rest))
    assert repr(together) == repr(alone)  # NaN is not equal to itself


def test_most_lines_of_a_flood_are_read_together():
    text = b'{"rate": 1.5}\n' * 500 + b"damaged\n" + b'{"rate": 1.5}\n' * 500
    events = list(parse_lines("b", 1.0, text))
    assert sum(len(event.lines) for event in events if isinstance(event, Metrics)) == 1000
    assert len(events) < 30
