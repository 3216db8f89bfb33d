import io
import os
from pathlib import Path

import pytest

from milabench_ddp.commands.final_report import PLAIN, RED, show, write
from tests.support.link_files import link_map, write_pairs
from tests.support.result_files import write_state

TEXT = "FAIL: 1 of 2 benchmarks ok\n\nFAIL is a word\n"
RED_ONCE = TEXT.replace("FAIL", f"{RED}FAIL{PLAIN}", 1)


@pytest.mark.parametrize(
    ("text", "environ", "expected"),
    [
        (TEXT, {}, RED_ONCE),
        (f"Verdict  {TEXT}", {}, f"Verdict  {RED_ONCE}"),
        (TEXT, {"NO_COLOR": "1"}, TEXT),
        (TEXT, {"NO_COLOR": ""}, RED_ONCE),  # as no-color.org has it
        (TEXT, {"TERM": "dumb"}, TEXT),
        ("PASS: no FAIL\n", {}, "PASS: no FAIL\n"),
        ("FAILURES of a program\n", {}, "FAILURES of a program\n"),
    ],
)
def test_in_a_terminal_the_verdict_is_red(
    monkeypatch: pytest.MonkeyPatch, text: str, environ: dict[str, str], expected: str
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in {"TERM": "xterm", **environ}.items():
        monkeypatch.setenv(name, value)
    ours, theirs = os.openpty()
    with open(theirs, "w") as terminal:
        write(text, terminal)
        terminal.flush()
        assert os.read(ours, 1000).decode().replace("\r\n", "\n") == expected
    os.close(ours)


def test_a_file_has_no_colours() -> None:
    out = io.StringIO()
    write(TEXT, out)
    assert out.getvalue() == TEXT


def test_a_validation_with_a_slow_link_in_the_ring_writes_an_order_without_failing_nodes(
    tmp_path: Path,
) -> None:
    speeds = link_map(8)
    speeds[0, 1] = 10.0
    speeds[5] *= 0.5
    speeds[:, 5] *= 0.5
    write_pairs(tmp_path, [speeds], tags=["validate"])
    write_state(tmp_path, "ok", {"pairs": "ok"})
    show(tmp_path, io.StringIO())
    order = (tmp_path / "node_order.txt").read_text().splitlines()
    assert sorted(order) == [f"n{node}" for node in (0, 1, 2, 3, 4, 6, 7)]
    ring = {frozenset(pair) for pair in zip(order, [*order[1:], order[0]], strict=True)}
    assert {"n0", "n1"} not in ring
    assert (tmp_path / "failing_nodes.txt").read_text() == "n5\n"


def test_a_validation_whose_order_is_good_writes_none(tmp_path: Path) -> None:
    write_pairs(tmp_path, [link_map(8)], tags=["validate"])
    write_state(tmp_path, "ok", {"pairs": "ok"})
    show(tmp_path, io.StringIO())
    assert not (tmp_path / "node_order.txt").exists()
    assert (tmp_path / "failing_nodes.txt").read_text() == ""
