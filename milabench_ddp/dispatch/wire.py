"""What a leader and a node agent tell each other, as JSON.

The leader: ``beat``, ``ports`` (find free ones), ``run`` (these processes of this launch), ``stop``
(why), ``ping`` (to one that was taken for gone), ``end`` (you are done). The agent: ``hello`` (its
node), ``beat``, ``ports``, ``ended`` (how its part of a launch went), ``pong``,
``problem`` (why it cannot serve).
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ..events import Outcome
from ..machine.devices import Device, Node
from ..plan.launch import Process
from ..results.state import LaunchState, ProcessState


def of_process(process: Process) -> dict[str, Any]:
    """A process, on its way to the node that starts it."""
    return asdict(process)


def process(values: Mapping[str, Any]) -> Process:
    """The process, at its node."""
    return Process(
        **{
            **values,
            "tag": tuple(values["tag"]),
            "argv": tuple(values["argv"]),
            "devices": tuple(values["devices"]),
        }
    )


def of_node(node: Node) -> dict[str, Any]:
    """A node, as it tells of itself."""
    return asdict(node)


def node(values: Mapping[str, Any]) -> Node:
    """The node, at the leader."""
    devices = tuple(Device(**{**each, "cpus": tuple(each["cpus"])}) for each in values["devices"])
    return Node(values["name"], devices, values["cpu_count"])


def of_end(end: LaunchState) -> dict[str, Any]:
    """How a node's part of a launch ended."""
    return asdict(end)


def processes_of(end: Mapping[str, Any]) -> list[ProcessState]:
    """Its processes, at the leader."""
    return [ProcessState(**{**p, "outcome": Outcome(p["outcome"])}) for p in end["processes"]]
