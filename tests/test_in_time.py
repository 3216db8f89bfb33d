import threading

import pytest

from milabench_ddp.in_time import in_time
from tests.support.wait import PATIENCE


def test_what_a_call_returns_or_raises():
    assert in_time(lambda: 7, PATIENCE) == 7
    with pytest.raises(ZeroDivisionError):
        in_time(lambda: 1 // 0, PATIENCE)


def test_a_call_that_does_not_return_is_left_behind():
    goes_on, thread = threading.Event(), []

    def hang() -> None:
        thread.append(threading.current_thread())
        goes_on.wait()

    with pytest.raises(TimeoutError):
        in_time(hang, 0.01)
    goes_on.set()
    assert all(each.daemon for each in thread)
