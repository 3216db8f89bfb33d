import os
import select
import signal

import pytest

from milabench_ddp.events import Data
from milabench_ddp.launch.inbox import Inbox, stopped_by_signals


def readable(inbox: Inbox) -> bool:
    return bool(select.select([inbox.fd], [], [], 0)[0])


@pytest.fixture
def inbox():
    it = Inbox()
    yield it
    it.close()


def test_it_is_readable_until_what_was_put_in_is_taken(inbox: Inbox):
    assert not readable(inbox)
    events = [Data("b", float(k), {}) for k in range(3)]
    for event in events:
        inbox.put(event)
    assert readable(inbox)
    assert list(inbox.take()) == events
    assert not readable(inbox)


def test_it_never_blocks_whoever_puts_something_in(inbox: Inbox):
    for _ in range(100_000):  # more than its pipe has room for
        inbox.stop()
    assert inbox.stops == 100_000
    assert readable(inbox)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_are_requests_to_stop(inbox: Inbox, number: signal.Signals):
    before = signal.getsignal(number)
    with stopped_by_signals(inbox):
        os.kill(os.getpid(), number)
        os.kill(os.getpid(), number)
    assert inbox.stops == 2
    assert readable(inbox)
    assert signal.getsignal(number) is before


def test_under_nohup_a_lost_terminal_is_no_reason(inbox: Inbox):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stopped_by_signals(inbox):
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert inbox.stops == 0
