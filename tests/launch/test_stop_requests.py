import os
import select
import signal

import pytest

from milabench_ddp.events import Outcome, Verdict
from milabench_ddp.launch.stop_requests import StopRequests, stopped_by_signals


def readable(requests: StopRequests) -> bool:
    return bool(select.select([requests.fd], [], [], 0)[0])


def test_a_selector_wakes_until_the_requests_are_cleared(requests: StopRequests):
    assert not readable(requests)
    requests.stop()
    assert readable(requests)
    requests.clear()
    assert not readable(requests)
    requests.clear()
    assert requests.stops == 1


def test_to_wake_is_not_to_ask(requests: StopRequests):
    requests.wake()
    assert readable(requests)
    assert requests.stops == 0


def test_the_first_verdict_stands(requests: StopRequests):
    assert requests.verdict == Verdict(Outcome.CANCELLED, "stopped on request")
    requests.stop(Verdict(Outcome.LOST, "n1 is gone"))
    requests.stop(Verdict(Outcome.FAILED, "another"))
    assert requests.verdict == Verdict(Outcome.LOST, "n1 is gone")


def test_a_request_never_blocks(requests: StopRequests):
    for _ in range(100_000):  # more than the pipe has room for
        requests.stop()
    assert requests.stops == 100_000
    assert readable(requests)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_are_requests_to_stop(requests: StopRequests, number: signal.Signals):
    before = signal.signal(number, signal.SIG_DFL)  # these tests may run under nohup
    try:
        with stopped_by_signals(requests):
            os.kill(os.getpid(), number)
            os.kill(os.getpid(), number)
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, before)
    assert requests.stops == 2
    assert readable(requests)


def test_under_nohup_a_lost_terminal_is_ignored(requests: StopRequests):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stopped_by_signals(requests):
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert requests.stops == 0
