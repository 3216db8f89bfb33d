"""Ordinary lines: whatever is taken as one is JSON to every reader, and counts as by itself."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import UNSET

from milabench_ddp.events import OWN_KEYS
from milabench_ddp.metric_line import ordinary_lines
from milabench_ddp.results.rates import RateCounts

numbers = st.one_of(st.integers(), st.floats(), st.sampled_from([0, -1, 2**31, 10**400, 1e-200]))
words = st.sampled_from(["", "train", "test", "items/s", "false", "1"])
values: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.booleans(), numbers, words, st.just({"0": {"load": 1}}), st.just([1])
)
keys = st.sampled_from(
    ["rate", "task", "units", "rank", "warmup", "loss", "train_rate", "step", "$event", "gpudata"]
)
usual = st.fixed_dictionaries(
    {"task": st.just("train"), "rate": st.floats(0.5, 1e6)},
    optional={
        "units": words,
        "rank": st.integers(0, 7),
        "warmup": st.booleans(),
        "loss": st.floats(0, 9),
    },
)
payloads = st.lists(st.one_of(usual, st.dictionaries(keys, values)), min_size=1, max_size=5)


def text_of(lines: list[dict[str, Any]]) -> bytes:
    return "".join(f"{json.dumps(line)}\n" for line in lines).encode()


@given(payloads, st.sampled_from([None, 3]))
def test_they_count_as_one_by_one(lines: list[dict[str, Any]], own_rank: int | None):
    found = ordinary_lines(text_of(lines))
    if not found:
        return
    together, alone = RateCounts(), RateCounts()
    together.add_lines(found, own_rank)
    for line, told in zip(lines, found, strict=True):
        assert not {"$event", "gpudata", "hostdata", "train_rate"} & line.keys()
        for key in ("rate", "task", "units", "rank", "warmup", "loss"):
            value = getattr(told, key)
            assert (value is UNSET) == (key not in line)
            assert value is UNSET or value == line[key]
        alone.add(line, own_rank)
    assert together == alone


@given(st.lists(usual, min_size=1, max_size=40))
def test_what_programs_write_is_ordinary(lines: list[dict[str, Any]]):
    assert len(ordinary_lines(text_of(lines))) == len(lines)


parts = st.sampled_from(
    ['{"a":', '"b"', "{", "}", "[", "]", ",", ":", "1", "-", ".5", "e9", " ", "\t", "\\", "\\u12",
     '"', "\\ud800", "NaN", "null", "tru", "\n", "}\n{", "\r", "\x00", "é", "\u2028", '"rate": 1']
)  # fmt: skip


@given(st.one_of(st.lists(parts).map("".join), st.text()))
@example('{"a": 1}{"b": 2}\n{"c":\n3}')
@example('{"a": 1}{"b": 2}\n{"c": {}\n}')
@example('{"a": 1}\r\n{"b":\r2}')
@example('{"a": ' + "9" * 5000 + "}")
@example('{"a": ' + "[" * 5000 + "]" * 5000 + "}")
@example('{"rate": 1, "rank": 1.0}')
@example("\n")
def test_each_is_an_object_to_every_reader(text: str):
    whole = f"{text}\n".encode("utf-8", "surrogatepass")
    found = ordinary_lines(whole)
    if found:
        lines = whole.decode("ascii").splitlines()
        assert len(lines) == len(found)
        assert all(isinstance(json.loads(line), dict) for line in lines)


@pytest.mark.parametrize(
    "line",
    [
        b'{"rate": 0}',
        b'{"rate": "5"}',
        b'{"rate": NaN}',
        b'{"rate": 1e101}',
        b'{"rank": -1, "rate": 1}',
        b'{"rank": 1.0, "rate": 1}',
        b'{"rank": true, "rate": 1}',
        b'{"warmup": 1, "rate": 1}',
        b'{"loss": "nan"}',
        b'{"$event": "stop"}',
        b'{"train_rate": 1}',
        *[b'{"%b": {}}' % key.encode() for key in OWN_KEYS],
        b'{"a": ' + b"[" * 201 + b"]" * 201 + b"}",
        b'{"a": "' + b"x" * 4096 + b'"}',
        b'{"a": "\\ud800"}',
        b' {"rate": 1}',
        b'{"rate": 1} ',
        b'{"rate": 1}\r',
        b"[1]",
        b"",
        b"no json",
    ],
)
def test_what_needs_a_closer_look_is_none(line: bytes):
    good = b'{"rate": 1}\n'
    assert len(ordinary_lines(good * 3)) == 3
    for text in (line + b"\n", good + line + b"\n", line + b"\n" + good):
        assert not ordinary_lines(text)
