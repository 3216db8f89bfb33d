"""What a coordinator reads from an agent's connection: messages, and whatever a shell prints."""

import os
from pathlib import Path
from typing import get_args

from hypothesis import strategies as st

from milabench_ddp.codec import encode
from milabench_ddp.dispatch.protocol import FromAgent, Heartbeat, Hello, LaunchEnded, Ports, Problem
from milabench_ddp.dispatch.transport import Connection, Stream
from milabench_ddp.events import Outcome
from milabench_ddp.machine.devices import Device, Node
from milabench_ddp.results.rates import RateCounts
from milabench_ddp.results.state import LaunchState, ProcessState
from tests.fuzz.mutated import spoilt
from tests.fuzz.told_lines import ODD_JSON

_PART = ProcessState("b.D0", 7, -9, Outcome.FAILED, "killed", 1.0, 2.5, RateCounts(3))
MESSAGES = (
    Hello(0, Node("n0", (Device(0, "0", "GPU", 80e3),), 8), "10.0.0.1", {"torch": "2"}),
    LaunchEnded("1", LaunchState(None, Outcome.FAILED, "it broke", (_PART,), ("n0",))),
    Ports("1", (5, 6)),
    Problem("a text"),
)
lines = st.one_of(
    spoilt([encode(message).decode() for message in MESSAGES]),
    st.sampled_from(ODD_JSON).map(str.encode),
    st.binary(max_size=40),
)


def check(sent: list[bytes], folder: Path) -> None:
    """Lines that are not messages are skipped; each good message between them arrives."""
    ours, theirs = os.pipe()
    null = os.open(os.devnull, os.O_WRONLY)
    connection: Connection[FromAgent] = Connection(Stream(ours, null), FromAgent)
    try:
        for line in sent:
            text = line.replace(b"\n", b"\r")[:30_000] + b"\n" + encode(Heartbeat()) + b"\n"
            os.write(theirs, text)
            found = connection.receive()
            assert found, "a good message is lost"
            assert isinstance(found[-1], Heartbeat), found
            assert all(isinstance(each, get_args(FromAgent)) for each in found), found
    finally:
        for fd in (ours, theirs, null):
            os.close(fd)
