import io

import pytest

from milabench_ddp.display import show_progress
from milabench_ddp.display.live import LiveProgress
from milabench_ddp.display.plain import PlainProgress
from milabench_ddp.display.run_progress import Outline
from milabench_ddp.progress import ProgressObserver
from tests.support.progress import OK, started


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stderr", "quiet", "form"),
    [
        (Terminal(), False, LiveProgress),
        (io.StringIO(), False, PlainProgress),
        (Terminal(), True, ProgressObserver),
        (io.StringIO(), True, ProgressObserver),
    ],
)
def test_what_is_shown_depends_on_stderr(
    stderr: io.StringIO, quiet: bool, form: type, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("sys.stderr", stderr)
    monkeypatch.setenv("TERM", "xterm")
    with show_progress(Outline(("a",)), quiet=quiet) as observer:
        assert type(observer) is form
        tell(observer)
    assert ("a: ok" in stderr.getvalue()) == (not quiet)


@pytest.mark.parametrize("term", ["dumb", "unknown"])
def test_a_terminal_on_which_nothing_can_be_drawn_again_gets_lines(
    term: str, monkeypatch: pytest.MonkeyPatch
):
    out = Terminal()
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr("sys.stderr", out)
    with show_progress(Outline(("a",)), quiet=False) as observer:
        tell(observer)
    assert "a: ok" in out.getvalue()
    assert "\x1b" not in out.getvalue()


def tell(observer: ProgressObserver) -> None:
    observer.begin("a", [], 60.0)
    observer.event(started("a.D0"))
    observer.message("hello")
    observer.end("a", OK)
