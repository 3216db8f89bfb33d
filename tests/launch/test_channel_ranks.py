"""Real processes that open a real pipe: what /proc and inotify say of them."""

import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from milabench_ddp.events import Data, Event, Note, Outcome
from milabench_ddp.launch import reap
from milabench_ddp.launch.channel import ChannelRanks, Fifo
from tests.support.launches import launch
from tests.support.supervised import EMIT, supervise

OTHERS: set[int] = set()  # processes that are not of the launch
HOLD = "import sys; out = open(sys.argv[1], 'w'); print('up', flush=True); sys.stdin.read()"


@contextmanager
def rank(fifo: Fifo, number: int | None) -> Iterator[int]:
    """A process that has the pipe open meanwhile."""
    env = {**os.environ}
    env.pop("RANK", None)
    if number is not None:
        env["RANK"] = str(number)
    argv = [sys.executable, "-c", HOLD, str(fifo.path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(argv, env=env, text=True, **pipes) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        yield process.pid
        process.communicate()


@pytest.fixture
def fifo(tmp_path: Path) -> Iterator[Fifo]:
    it = Fifo(tmp_path / "metrics.0")
    yield it
    it.close()


@pytest.fixture
def channel(fifo: Fifo) -> Iterator[ChannelRanks]:
    it = ChannelRanks(fifo.path, lambda: reap.family(os.getpid()) - OTHERS)
    yield it
    it.close()


def is_readable(fd: int) -> bool:
    return bool(select.select([fd], [], [], 0)[0])


def test_the_ranks_that_have_it_open(fifo: Fifo, channel: ChannelRanks):
    assert not is_readable(channel.fd)  # the supervisor's own end does not count
    with rank(fifo, 0), rank(fifo, 3):
        assert is_readable(channel.fd)
        channel.look()
        assert not is_readable(channel.fd)
    assert channel.ranks == {0, 3}
    assert channel.opened in (1, 2)


def test_neither_others_nor_the_workers_of_a_rank_are_ranks(fifo: Fifo, channel: ChannelRanks):
    with rank(fifo, 1), rank(fifo, 1), rank(fifo, None), rank(fifo, 2) as other:
        OTHERS.add(other)
        channel.look()
    assert channel.ranks == {1}


def test_it_looks_more_rarely_where_it_is_opened_often(fifo: Fifo, channel: ChannelRanks):
    looks = 0
    for k in range(1, 101):
        with fifo.path.open("w"):
            before = channel._due
            channel.look()
        looks += channel._due != before
        assert channel.opened == k
    assert looks == 7  # at 1, 2, 4, ..., 64


TWO_RANKS = """
import os, subprocess, sys
ranks = []
for rank in range(2):
    env = {**os.environ, "RANK": str(rank)}
    ranks.append(subprocess.Popen([sys.executable, "-c", sys.argv[1], sys.argv[2]], env=env))
sys.exit(max(rank.wait() for rank in ranks))
"""
# It holds the channel open until the supervisor has read its second line: the first told it to look
RANK = (
    EMIT
    + """
rank = int(os.environ["RANK"])
def told(): emit(task="train", rate=10.0, units="items/s", **FIELDS)
if WRITES: told()
else: emit(task="main", up=rank)
while not os.path.exists(sys.argv[1] + "/first"): time.sleep(0.01)
if WRITES: told()
else: emit(task="main", up=rank)
while not os.path.exists(sys.argv[1] + "/second"): time.sleep(0.01)
"""
)


@pytest.mark.parametrize(
    ("fields", "writes", "outcome"),
    [
        ("{}", "True", Outcome.FAILED),
        ("{'rank': rank}", "True", Outcome.OK),
    ],
)
def test_ranks_that_share_the_channel(tmp_path: Path, fields: str, writes: str, outcome: Outcome):
    made = launch("")
    text = RANK.replace("FIELDS", fields).replace("WRITES", writes)
    argv = (sys.executable, "-c", TWO_RANKS, text, str(tmp_path))
    process = replace(made.processes[0], argv=argv, devices=(0, 1))
    seen = 0

    def on(event: Event, *_: object) -> None:
        nonlocal seen
        seen += isinstance(event, Data)
        if seen == 2:
            (tmp_path / "first").touch()
        if seen == 4:
            (tmp_path / "second").touch()

    end, events = supervise(replace(made, processes=(process,)), on)
    assert end.outcome is outcome
    notes = [event.data for event in events if isinstance(event, Note)]
    if outcome is Outcome.FAILED:
        assert end.reason.startswith("2 of its ranks had the file of $MILABENCH_METRICS open")
        assert [note["ranks"] for note in notes] == [[0, 1]]
    else:
        assert notes == []


def test_without_watches_nothing_is_known(fifo: Fifo, monkeypatch: pytest.MonkeyPatch):
    class Libc:
        def inotify_init1(self, _: int) -> int:
            return -1

    monkeypatch.setattr("ctypes.CDLL", lambda *_, **__: Libc())
    with ExitStack() as stack:
        channel = ChannelRanks(fifo.path, set)
        stack.callback(channel.close)
        assert (channel.fd, channel.ranks) == (-1, set())
