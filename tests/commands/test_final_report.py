import io
import os

import pytest

from milabench_ddp.commands.final_report import PLAIN, RED, write

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
