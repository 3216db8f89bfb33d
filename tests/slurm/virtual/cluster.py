"""The cluster: all nodes, up and down."""

import shutil
from collections.abc import Callable, Collection
from pathlib import Path

from . import files, needs, services
from .errors import ClusterError
from .network import Network, shaping
from .node import Node
from .processes import Processes, call, until
from .settings import MOST_NODES, Settings

FOLDERS = ("etc", "run", "log", "state", "spool", "db", "dev")
PATIENCE = 150.0
"""Seconds until nodes that Slurm does not have are given up."""


class Cluster:
    """A virtual Slurm cluster."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._processes = Processes(settings.directory)
        self._network = Network(settings)

    @property
    def is_up(self) -> bool:
        """Whether its controller runs."""
        return self._processes.pid("slurmctld") is not None

    def node(self, name: str) -> Node:
        """One of its nodes."""
        return Node(self.settings, name)

    def nodes(self) -> list[Node]:
        """All of them."""
        return [self.node(f"node{number}") for number in self.settings.numbers()]

    def up(self, nodes: int, *, network: bool) -> None:
        """Start it, and return once all nodes are idle."""
        directory = self.settings.directory
        if not 1 <= nodes <= MOST_NODES:
            raise ClusterError(f"{nodes} nodes: there can be 1 to {MOST_NODES}")
        if self.is_up:
            raise ClusterError(f"a cluster is up already in {directory}: `down` stops it")
        self.down()
        needs.check(self.settings, nodes, network=network)
        _empty(directory, FOLDERS)
        try:
            if network:
                (directory / "etc" / "netns").touch()
                self._network.up()
            files.write(self.settings, nodes)
            services.start(self.settings, self._processes)
            for node in self.nodes():
                node.power_on()
            names = {node.name for node in self.nodes()}
            self.await_states(names, lambda state: state == "idle")
        except BaseException:
            self.down()
            raise

    def down(self) -> None:
        """Stop all that was started, whatever is left of it; the logs stay."""
        self._processes.stop("slurmctld")  # first: it is not to see the nodes die
        if (self.settings.directory / "etc" / "nodes").exists():
            for node in self.nodes():
                node.power_off()
                if self.settings.has_network:
                    self._network.remove(node.name)
        services.stop(self._processes)
        if self.settings.has_network:
            self._network.down()

    def boot(self, name: str) -> None:
        """Give a node power again, and return once Slurm has it back."""
        self.node(name).power_on()
        self.await_states({name}, lambda state: not state.startswith("down") and "*" not in state)

    def mend(self) -> None:
        """Undo all faults: every node on, every cable in, no limit; does not wait for Slurm."""
        for node in self.nodes():
            if not node.is_on:
                node.power_on()
            elif self.settings.has_network:
                self.plug(node.name, connected=True)
                self.rate(node.name, "off")

    def rate(self, name: str, rate: str) -> None:
        """Let a node send no faster than ``rate``."""
        self._network.cable(name)  # says so where there is none
        self.node(name).run(shaping(rate))

    def plug(self, name: str, *, connected: bool) -> None:
        """Pull or plug a node's cable."""
        self._network.plug(name, connected=connected)

    def await_states(self, names: Collection[str], wanted: Callable[[str], bool]) -> None:
        """Wait until nodes have started and Slurm says the right thing of them."""

        def all_are() -> bool:
            # The controller may not yet have noticed that a node was away: ask the node first.
            if not all(self.node(name).has_started for name in names):
                return False
            try:
                states = self.states()
            except ClusterError:  # a busy controller
                return False
            return all(wanted(states.get(name, "down")) for name in names)

        if not until(all_are, PATIENCE):
            states = ", ".join(f"{name} {state}" for name, state in self.states().items())
            raise ClusterError(
                f"not as it should be after {PATIENCE:.0f} s: {states}; "
                f"see {self.settings.directory}/log"
            )

    def states(self) -> dict[str, str]:
        """Each node's state in Slurm's words; ``*`` behind one: it does not respond."""
        command = ["sinfo", "--noheader", "--Node", "--partition=train", "--format=%N %T"]
        lines = call(*command, environ=self.settings.environ).splitlines()
        return dict(line.split() for line in lines)


def _empty(directory: Path, folders: Collection[str]) -> None:
    """Make a folder anew; only one that a cluster left is removed."""
    if directory.exists() and any(directory.iterdir()):
        if not (directory / "etc" / "munge.key").exists():
            raise ClusterError(f"{directory} is not empty, and no cluster's: give another folder")
        shutil.rmtree(directory)
    for folder in folders:
        (directory / folder).mkdir(parents=True)
