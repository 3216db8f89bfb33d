"""How long those who lead and those who are led wait for one another."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Patience:
    """All in seconds."""

    beat: float = 1.0  # between signs of life
    silence: float = 20.0  # without one, the other side is taken to be gone
    join: float = 120.0  # for the nodes to come, once the first one is there
    follow: float = 10.0  # for the other nodes of a launch to fail by themselves after the first
    report: float = 30.0  # beyond its deadline and grace, for a node to say how a launch ended
    reconnect: float = 60.0  # for a node to look for a leader that it has lost
