import io

from milabench_ddp.commands.prepare import progress_bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_line_for_each_tenth():
    out = io.StringIO()
    with progress_bar("F", 40, "images", out) as advance:
        for _ in range(40):
            advance(1)
    lines = out.getvalue().splitlines()
    assert len(lines) == 10
    assert lines[0] == "F: 4 of 40 images"
    assert lines[-1] == "F: 40 of 40 images"


def test_few_are_told_one_by_one_and_none_twice():
    out = io.StringIO()
    with progress_bar("F", 3, "images", out) as advance:
        for count in (1, 0, 2):
            advance(count)
    assert out.getvalue() == "F: 1 of 3 images\nF: 3 of 3 images\n"


def test_a_bar_on_a_terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    out = Terminal()
    with progress_bar("FakeImageNet", 3, "images", out) as advance:
        advance(3)
    assert "FakeImageNet" in out.getvalue()
    assert "3/3" in out.getvalue()
    assert "━" in out.getvalue()
