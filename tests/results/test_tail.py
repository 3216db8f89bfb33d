import os
from pathlib import Path

from milabench_ddp.events import Data, Ended, Note, Started
from milabench_ddp.results.run_dir import RunDir
from milabench_ddp.results.tail import LAST, Tail
from tests.support.result_files import config, end, line, rate, start


def test_what_was_added_since_it_was_last_asked(tmp_path: Path) -> None:
    tail, path = Tail(RunDir(tmp_path)), tmp_path / "b.D0.data"
    assert list(tail.events("b")) == []
    path.write_text(config("b") + start() + line("begin", {}) + rate(1.0))
    first = list(tail.events("b"))
    assert [type(event) for event in first] == [Started, Note, Data]
    assert {event.tag for event in first} == {"b.D0"}
    assert list(tail.events("b")) == []
    with path.open("a") as file:
        file.write(rate(2.0) + '{"event": "da')
    (second,) = tail.events("b")
    assert isinstance(second, Data)
    assert second.payload["rate"] == 2.0
    with path.open("a") as file:
        file.write('ta", "data": {"rate": 3.0}}\n' + end(1, outcome="failed", reason="no"))
    third, last = tail.events("b")
    assert isinstance(third, Data)
    assert third.payload == {"rate": 3.0}
    assert isinstance(last, Ended)


def test_of_a_long_file_the_last_lines(tmp_path: Path) -> None:
    path = tmp_path / "b.D0.data"
    path.write_text("".join(rate(float(k)) for k in range(3000)))
    assert path.stat().st_size > 2 * LAST
    found = list(Tail(RunDir(tmp_path)).events("b"))
    assert 100 < len(found) < 1500
    assert isinstance(found[-1], Data)
    assert found[-1].payload["rate"] == 2999.0


def test_files_of_others_damaged_lines_and_a_new_attempt(tmp_path: Path) -> None:
    tail, path = Tail(RunDir(tmp_path)), tmp_path / "[b].D0.data"
    (tmp_path / "b.D0.data").write_text(rate(1.0))
    path.write_text("garbage\n[]\n" + rate(2.0) + rate(3.0))
    assert len(list(tail.events("[b]"))) == 2
    path.write_text(rate(4.0))  # the files of the attempt before were set aside
    (event,) = tail.events("[b]")
    assert isinstance(event, Data)
    assert event.payload["rate"] == 4.0


def test_a_fifo_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "b.D0.data")
    (tmp_path / "b.D1.data").write_text(rate(1.0))
    assert len(list(Tail(RunDir(tmp_path)).events("b"))) == 1
