"""A display that fails, beside one that shows all."""

import io

import pytest

from milabench_ddp.display.plain import PlainProgress
from milabench_ddp.progress import LaunchCount
from tests.support.progress import OK, rate


class Broken(PlainProgress):
    """Knows nothing of the run, so that all but messages fails."""

    def __init__(self) -> None:
        self.out = io.StringIO()
        super().__init__(self.out)
        del self._known.running


def tell_all(observer: PlainProgress) -> None:
    observer.begin("a", ("n0",), 1.0, ago=2.0)
    observer.event(rate("a.D0", 1.0))
    observer.launch_ended("a", LaunchCount(1, 2), "one of two", pauses=True)
    observer.end("a", OK)
    observer.message("said")


def test_its_trouble_is_told_once_and_ends_nothing() -> None:
    shown = Broken()
    tell_all(shown)
    told, said = shown.out.getvalue().splitlines()
    assert said.endswith(" said")
    assert " the progress display is incomplete: milabench itself failed: Attr" in told


def test_nor_does_one_that_cannot_even_say_so() -> None:
    class Mute(Broken):
        def write(self, text: str, style: str) -> None:
            raise BrokenPipeError

    tell_all(Mute())


def test_a_request_to_end_is_not_its_trouble() -> None:
    class Stopped(Broken):
        def write(self, text: str, style: str) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Stopped().message("x")
