import io

import pytest

from milabench_ddp.display import show_progress
from milabench_ddp.display.live import LiveProgress
from milabench_ddp.display.run_progress import PlainProgress
from milabench_ddp.progress import NoProgress, ProgressObserver
from tests.support.progress import OK, started


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stderr", "quiet", "form"),
    [
        (Terminal(), False, LiveProgress),
        (io.StringIO(), False, PlainProgress),
        (Terminal(), True, NoProgress),
        (io.StringIO(), True, NoProgress),
    ],
)
def test_what_is_shown_depends_on_stderr(
    stderr: io.StringIO, quiet: bool, form: type, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("sys.stderr", stderr)
    with show_progress(1, quiet=quiet) as observer:
        assert isinstance(observer, form)
        tell(observer)
    assert ("a: ok" in stderr.getvalue()) == (not quiet)


def tell(observer: ProgressObserver) -> None:
    observer.begin("a", [], 60.0)
    observer.event(started("a.D0"))
    observer.message("hello")
    observer.end("a", OK)
