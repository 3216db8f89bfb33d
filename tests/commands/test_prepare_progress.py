import io

from milabench_ddp.commands.prepare import progress_bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_file_gets_none():
    out = io.StringIO()
    with progress_bar("F", 40, "images", out) as advance:
        advance(40)
    assert out.getvalue() == ""


def test_a_bar_on_a_terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    out = Terminal()
    with progress_bar("FakeImageNet", 3, "images", out) as advance:
        advance(3)
    assert "FakeImageNet" in out.getvalue()
    assert "3/3" in out.getvalue()
    assert "━" in out.getvalue()
