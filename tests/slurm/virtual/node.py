"""A node: the namespaces that one `unshare` process holds; when it is killed, all of it dies."""

from collections.abc import Sequence
from pathlib import Path

from .errors import ClusterError
from .network import Network
from .processes import Processes, call, until
from .settings import Settings

INIT = Path(__file__).parent / "node.sh"


class Node:
    """One node of a cluster."""

    def __init__(self, settings: Settings, name: str) -> None:
        self.name = name
        self._settings = settings
        self._number = settings.number(name)
        self._network = Network(settings)
        self._processes = Processes(settings.directory)
        self._holder = f"holder-{name}"
        self._slurmd = self._processes.path(f"slurmd-{name}")

    @property
    def is_on(self) -> bool:
        """Whether it has power."""
        return self._processes.pid(self._holder) is not None

    @property
    def has_started(self) -> bool:
        """Whether its slurmd listens."""
        return self.is_on and self._slurmd.exists()

    def power_on(self) -> None:
        """Start it; Slurm has it back somewhat later."""
        if self.is_on:
            raise ClusterError(f"{self.name} is on already")
        self._slurmd.unlink(missing_ok=True)
        networked = self._settings.has_network
        unshare = ["unshare", "--uts", "--ipc", "--mount", "--pid", *["--net"] * networked]
        init = ["bash", str(INIT), self.name, str(self._settings.directory)]
        if networked:
            init.append(self._settings.address(self._number))
        holder = self._processes.start(
            [*unshare, "--fork", "--kill-child", "--mount-proc", *init], f"init-{self.name}.log"
        )
        self._processes.path(self._holder).write_text(str(holder.pid))
        if networked:
            if not until(lambda: _has_network_of_its_own(holder.pid), 10):
                raise ClusterError(
                    f"{self.name} does not start: see {self._settings.directory}/log"
                )
            self._network.lay(self.name, holder.pid)

    def power_off(self) -> None:
        """End everything on it at once; with a network of its own, it takes leave of nobody."""
        if self._settings.has_network and self.is_on:
            self._network.plug(self.name, connected=False)
        self._processes.stop(self._holder, kill=True)

    def command(self, command: Sequence[str]) -> list[str]:
        """What the host has to run to run a command on this node."""
        holder = self._processes.pid(self._holder)
        if holder is None:
            raise ClusterError(f"{self.name} is off: `boot {self.name}`")
        # The holder is outside the process table that it made: the node's is its children's.
        spaces = ["--mount", "--uts", "--ipc", "--net", f"--pid=/proc/{holder}/ns/pid_for_children"]
        return ["nsenter", "--target", str(holder), *spaces, "--", *command]

    def run(self, command: Sequence[str]) -> None:
        """Run a command on it; raises ClusterError with its last words."""
        call(*self.command(command))


def _has_network_of_its_own(holder: int) -> bool:
    """Whether the process has left the host's network."""
    try:
        return not Path(f"/proc/{holder}/ns/net").samefile("/proc/self/ns/net")
    except OSError:
        return False
