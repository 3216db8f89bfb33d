import json
from pathlib import Path

import pytest

from milabench_ddp.report.output import TAIL, failed_rank, of_rank, tail, without_launcher
from tests.support.result_files import RECORDED, TORCHRUN, config, line, write


def test_the_rank_that_failed_first() -> None:
    assert failed_rank(TORCHRUN) == 1
    without_summary = TORCHRUN[: TORCHRUN.index("main.py FAILED")]
    assert failed_rank(without_summary) == 1
    assert failed_rank(["Traceback (most recent call last):", "ValueError"]) is None


def test_the_lines_of_the_rank() -> None:
    assert of_rank(TORCHRUN, 1) == TORCHRUN[4:8]
    assert of_rank(TORCHRUN, 0) == TORCHRUN[8:17]
    assert of_rank(TORCHRUN, None) == [*TORCHRUN[4:17], "a last word"]
    assert of_rank(TORCHRUN, 7) == of_rank(TORCHRUN, None)


def test_what_the_launcher_adds_is_left_out_unless_there_is_nothing_else() -> None:
    assert without_launcher(TORCHRUN[17:57]) == []
    assert of_rank(TORCHRUN[17:57], None) == TORCHRUN[17:57]


def test_recorded_output_of_a_launcher() -> None:
    """milabench keeps output in the .data file; torch 2.2 has another log format."""
    path = RECORDED / "replays" / "exception.txt"
    lines, whole = tail(path, "stderr")
    assert whole == path
    assert failed_rank(lines) == 0
    assert of_rank(lines, 0)[-1] == "ModuleNotFoundError: No module named 'datasets'"
    assert not any("ChildFailedError" in text for text in without_launcher(lines))


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"\n\none\ntwo\n\n\n", ["one", "two"]),
        (b"\x1b[31mred\x1b[0m \x1b]0;title\x07end\n", ["red end"]),
        (b"10%\r50%\r100%\ndone\r\n", ["100%", "done"]),
        (b"bell\x07 nul\x00 tab\tkept\n", ["bell nul tab\tkept"]),
        (b"\xff is no UTF-8\n", ["\\xff is no UTF-8"]),
    ],
)
def test_output_is_shown_as_plain_text(tmp_path: Path, raw: bytes, shown: list[str]) -> None:
    (tmp_path / "b.stderr").write_bytes(raw)
    assert tail(tmp_path / "b.data", "stderr") == (shown, tmp_path / "b.stderr")


def test_only_the_end_of_a_large_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "b.stderr"
    path.write_text("".join(f"line {k:06d}\n" for k in range(TAIL // 8)))
    lines, _ = tail(tmp_path / "b.data", "stderr")
    assert lines[-1] == f"line {TAIL // 8 - 1:06d}"
    assert len(lines) <= TAIL // 12 + 1
    assert all(len(text) == 11 for text in lines)


def test_nothing_was_printed(tmp_path: Path) -> None:
    path = write(tmp_path, "b", config("b"), line("line", "only this\n", "stdout"))
    (tmp_path / "b.stderr").touch()
    assert tail(path, "stderr") == ([], None)
    assert tail(path, "stdout") == (["only this"], path)
    assert tail(tmp_path / "c.data", "stderr") == ([], None)


def test_pieces_of_a_line_are_joined(tmp_path: Path) -> None:
    pieces = [json.loads(line("line", text, "stderr")) for text in ("half a ", "line\n")]
    path = write(tmp_path, "b", config("b"), *(json.dumps(piece) + "\n" for piece in pieces))
    assert tail(path, "stderr") == (["half a line"], path)


def test_the_answer_of_a_launcher_to_a_signal_is_nobody_s_failure() -> None:
    stopped = [
        "W1121 10:38:30.637000 14378 torch/distributed/elastic/agent/server/api.py:752] Stop",
        "Traceback (most recent call last):",
        '  File "/torch/distributed/run.py", line 1142, in <module>',
        "torch.distributed.elastic.multiprocessing.api.SignalException: Process 7 got signal: 15",
    ]
    assert of_rank(stopped, None) == []
    assert of_rank(["a last word", *stopped], None) == ["a last word"]
