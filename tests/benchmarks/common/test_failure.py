import contextlib
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from benchmarks.common.failure import SkippedError, UnsupportedError, head, reported, tail
from benchmarks.common.metrics import Emitter, encode


@given(st.text(), st.integers(10, 100))
def test_cut_texts_fit_and_keep_their_end(text, limit):
    for cut in (head(text, limit), tail(text, limit)):
        assert len(json.dumps(cut)) <= limit
    assert text.startswith(head(text, limit))
    assert text.endswith(tail(text, limit))
    if len(json.dumps(text)) <= limit:
        assert head(text, limit) == tail(text, limit) == text


@given(st.text(max_size=5000))
@example("\U0001f525" * 3000)  # 12 bytes of JSON each
def test_an_error_fits_into_a_line(message):
    sent = []
    with contextlib.suppress(ValueError), reported(Emitter(sent.append, rank=3)):
        raise ValueError(message)
    (payload,) = sent
    assert len(encode(payload)) <= 4096
    error = payload["$data"]
    assert payload["$event"] == "error"
    assert error["type"] == "ValueError"
    assert message.startswith(error["message"])
    assert error["rank"] == 3


def test_the_trace_says_where():
    sent = []
    with pytest.raises(ZeroDivisionError), reported(Emitter(sent.append)):
        _ = 1 / 0
    trace = sent[0]["$data"]["trace"]
    assert "test_failure.py" in trace
    assert trace.endswith("ZeroDivisionError: division by zero\n")


@pytest.mark.parametrize(("kind", "skips"), [(UnsupportedError, False), (SkippedError, True)])
def test_a_refusal_is_one_sentence_and_status_2(capsys, kind, skips):
    sent = []
    with pytest.raises(SystemExit) as exit_, reported(Emitter(sent.append)):
        raise kind("there is no such thing")
    assert exit_.value.code == 2
    assert capsys.readouterr().err == "error: there is no such thing\n"
    assert sent[0]["$data"]["message"] == "there is no such thing"
    assert sent[0]["$data"].get("skip", False) is skips


@pytest.mark.parametrize("meant", [SystemExit(0), KeyboardInterrupt()])
def test_an_exit_that_was_meant_is_no_error(meant):
    sent = []
    with pytest.raises(type(meant)), reported(Emitter(sent.append)):
        raise meant
    assert sent == []
