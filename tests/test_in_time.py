import threading

import pytest

from milabench_ddp.in_time import in_time


def test_what_it_returns_or_raises() -> None:
    assert in_time(lambda: 7, 600.0) == 7
    with pytest.raises(ZeroDivisionError):
        in_time(lambda: 1 / 0, 600.0)


def test_what_does_not_return_is_left_behind() -> None:
    never = threading.Event()
    with pytest.raises(TimeoutError):
        in_time(never.wait, 0.01)
    never.set()


def test_where_no_thread_can_start_it_is_called_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def cannot(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", cannot)
    assert in_time(lambda: 7, 600.0) == 7
