import os
import select
import signal

import pytest

from milabench_ddp.events import Outcome, Verdict
from milabench_ddp.interrupts import EndedBySignal, ending_signals, raise_at_signals
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


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (signal.SIGINT, "stopped on request"),
        (signal.SIGTERM, "stopped on request"),
        (signal.SIGHUP, "stopped by SIGHUP"),
        (signal.SIGQUIT, "stopped by SIGQUIT"),
        (signal.SIGUSR1, "stopped by SIGUSR1"),
        (signal.SIGALRM, "stopped by SIGALRM"),
        (signal.SIGXCPU, "stopped by SIGXCPU"),
        (signal.SIGRTMIN + 1, "stopped by signal 35"),
    ],
)
def test_signals_are_requests_to_stop(requests: StopRequests, number: int, reason: str):
    before = signal.signal(number, signal.SIG_DFL)  # these tests may run under nohup
    try:
        with stopped_by_signals(requests):
            os.kill(os.getpid(), number)
            os.kill(os.getpid(), number)
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, before)
    assert requests.stops == 2
    assert requests.verdict == Verdict(Outcome.CANCELLED, reason)
    assert readable(requests)


def test_under_nohup_a_lost_terminal_is_ignored(requests: StopRequests):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stopped_by_signals(requests):
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert requests.stops == 0


def test_a_signal_with_a_handler_keeps_it(requests: StopRequests):
    """As Slurm's warning of an agent does."""
    got: list[int] = []
    before = signal.signal(signal.SIGUSR2, lambda number, _: got.append(number))
    try:
        with stopped_by_signals(requests):
            os.kill(os.getpid(), signal.SIGUSR2)
    finally:
        signal.signal(signal.SIGUSR2, before)
    assert (got, requests.stops) == ([signal.SIGUSR2], 0)


def test_signals_that_raise_otherwise_are_requests_of_a_run(requests: StopRequests):
    """A command raises at them; what runs inside it is stopped."""
    numbers = ending_signals()
    raise_at_signals()
    try:
        with stopped_by_signals(requests):
            os.kill(os.getpid(), signal.SIGUSR1)
        with pytest.raises(EndedBySignal):
            os.kill(os.getpid(), signal.SIGUSR1)
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)
    assert requests.stops == 1
