"""Measured messages."""

import math
from collections.abc import Sequence

from msgspec import Struct

from ...grouping import grouped

FAST = 0.5  # of the mean time of a byte


class Message(Struct, frozen=True):
    """A measured message, or all exposed communication of a step as one."""

    launch: int
    count: int  # of nodes or ranks
    bytes: float
    ms: float
    alone: float = 0.0  # ms of it on a single node of several ranks
    number: int = 1  # of messages that it stands for, one after the other


def merged(messages: Sequence[Message]) -> list[Message]:
    """The messages, or one for each launch if they were not sent one after the other.

    Small messages take more time for each byte than large ones. One that seems to take much less
    was sent beside others, as gloo does with two: then only the time of all of them is known.
    """
    launches = grouped((message.launch, message) for message in messages)
    whole = []
    for launch, of_launch in launches.items():
        size = math.fsum(each.bytes for each in of_launch)
        ms = math.fsum(each.ms for each in of_launch)
        alone = math.fsum(each.alone for each in of_launch)
        whole.append(Message(launch, of_launch[0].count, size, ms, alone, len(of_launch)))
    for total in whole:
        fastest = min(each.ms / each.bytes for each in launches[total.launch])
        if fastest < FAST * total.ms / total.bytes:
            return whole
    return list(messages)
