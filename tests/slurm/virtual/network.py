"""The cluster's network: a bridge, and a cable from it to each node's ``eth0``."""

from .errors import ClusterError
from .processes import call, succeeds
from .settings import Settings


class Network:
    """The bridge and the cables; only a cluster that was started with ``--netns`` has them."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def up(self) -> None:
        """Make the bridge, with the host on it."""
        bridge, host = self._settings.bridge, self._settings.host
        call("ip", "link", "add", bridge, "type", "bridge")
        call("ip", "address", "add", f"{host}/24", "dev", bridge)
        call("ip", "link", "set", bridge, "up")

    def down(self) -> None:
        """Remove the bridge, if it is there."""
        succeeds("ip", "link", "delete", self._settings.bridge)

    def cable(self, node: str) -> str:
        """The name of the host's end of a node's cable."""
        number = self._settings.number(node)
        if not self._settings.has_network:
            raise ClusterError("the nodes have no network of their own: `up N --netns` gives one")
        return f"{self._settings.bridge}n{number}"

    def lay(self, node: str, holder: int) -> None:
        """Connect the network namespace of the process ``holder``."""
        cable = self.cable(node)
        self.remove(node)  # of an earlier life, which the kernel may not yet have swept away
        call(
            "ip", "link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", str(holder)
        )
        call("ip", "link", "set", cable, "master", self._settings.bridge, "up")

    def remove(self, node: str) -> None:
        """Take a node's cable away, if it is there."""
        succeeds("ip", "link", "delete", self.cable(node))

    def plug(self, node: str, *, connected: bool) -> None:
        """Pull a node's cable out, or plug it in; packets are lost without a word."""
        call("ip", "link", "set", self.cable(node), "up" if connected else "down")


def shaping(rate: str) -> list[str]:
    """The command that a node runs to send no faster than ``rate`` (``200mbit``), or ``off``."""
    if rate == "off":
        return ["tc", "qdisc", "replace", "dev", "eth0", "root", "pfifo_fast"]
    shaper = f"tbf rate {rate} burst 256kb latency 50ms"
    return ["tc", "qdisc", "replace", "dev", "eth0", "root", *shaper.split()]
