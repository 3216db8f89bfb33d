"""An observer that fails, beside one that shows all."""

import pytest

from milabench_ddp.progress import ContainedProgress, LaunchCount
from tests.support.progress import OK, RecordedProgress, rate


class Broken(RecordedProgress):
    """Fails at all but messages."""

    def begin(self, *_: object, **__: object) -> None:
        raise ZeroDivisionError("begin")

    event = launch_ended = end = begin


def tell_all(observer: ContainedProgress) -> None:
    observer.begin("a", ("n0",), 1.0, ago=2.0)
    observer.event(rate("a.D0", 1.0))
    observer.launch_ended("a", LaunchCount(1, 2), "one of two", pauses=True)
    observer.end("a", OK)
    observer.message("said")


def test_all_is_passed_on() -> None:
    shown = RecordedProgress()
    tell_all(ContainedProgress(shown))
    assert (shown.begun, shown.ago) == ([("a", ("n0",))], {"a": 2.0})
    assert len(shown.events) == 1
    assert shown.launches == [("a", 1, 2, True)]
    assert (shown.ended, shown.messages) == ({"a": OK}, ["one of two", "said"])


def test_its_trouble_is_told_once_and_ends_nothing() -> None:
    shown = Broken()
    tell_all(ContainedProgress(shown))
    (told, said) = shown.messages
    assert said == "said"
    assert told.startswith("the progress display is incomplete: milabench itself failed: Ze")


def test_nor_does_one_that_cannot_even_say_so() -> None:
    class Mute(Broken):
        def message(self, text: str) -> None:
            raise BrokenPipeError

    tell_all(ContainedProgress(Mute()))


def test_a_request_to_end_is_not_its_trouble() -> None:
    class Stopped(RecordedProgress):
        def message(self, text: str) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ContainedProgress(Stopped()).message("x")
