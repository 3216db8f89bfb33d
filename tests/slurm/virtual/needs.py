"""What a machine must have, and the sentence for each thing that is missing."""

import os
import shutil
import socket
import subprocess

from .errors import ClusterError
from .processes import succeeds
from .settings import Settings

PACKAGES = (
    "slurmctld",
    "slurmd",
    "slurm-client",
    "slurmdbd",
    "munge",
    "mariadb-server-core",
    "iproute2",
)
"""Of Debian 12 (Slurm 22.05) and its kin."""
COMMANDS = (
    "slurmctld",
    "slurmd",
    "slurmdbd",
    "sbatch",
    "munged",
    "mariadbd",
    "ip",
    "tc",
    "unshare",
)


def missing(*, network: bool) -> str | None:
    """The first thing that is missing, as a sentence; None where a cluster can be started."""
    if os.geteuid():
        return "a cluster of virtual nodes needs root: this is not root"
    if absent := [name for name in COMMANDS if shutil.which(name) is None]:
        return f"not installed: {', '.join(absent)}; `tests/slurm/cluster install` installs Slurm"
    if not succeeds("unshare", "--uts", "--ipc", "--mount", "--pid", "--fork", "true"):
        return "this machine, or container, does not let root make Linux namespaces (unshare)"
    bridge = ["ip", "link", "add", "name", "probe", "type", "bridge"]
    if network and not succeeds("unshare", "--net", *bridge):
        return (
            "this machine does not let root make network namespaces with a bridge in them: "
            "without --netns the nodes share the loopback interface"
        )
    return None


def check(settings: Settings, nodes: int, *, network: bool) -> None:
    """Raise ClusterError where this cluster cannot be started."""
    if lacks := missing(network=network):
        raise ClusterError(lacks)
    ports = [settings.port, settings.port + 1]
    if not network:  # else each node has all ports to itself
        ports += [settings.port + 100 + number for number in range(1, nodes + 1)]
    for port in ports:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("", port))
            except OSError:
                raise ClusterError(
                    f"port {port} is in use: choose another MILABENCH_SLURM_SLOT (0 to 9)"
                ) from None
    taken = subprocess.run(["ip", "-brief", "address"], capture_output=True, text=True).stdout
    for name in (settings.bridge, f"{settings.network}.254/24"):
        if network and name in taken.split():
            raise ClusterError(
                f"the network {name} is in use: choose another MILABENCH_SLURM_SLOT (0 to 9)"
            )


def install() -> None:
    """Install Slurm from the distribution's packages; the cluster uses none of their services."""
    if os.geteuid():
        raise ClusterError("`install` needs root: this is not root")
    if shutil.which("apt-get") is None:
        raise ClusterError(f"no apt-get here: install the likes of {', '.join(PACKAGES)}")
    quiet = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for command in (
        ["apt-get", "update", "-qq"],
        ["apt-get", "install", "-qq", "-y", "--no-install-recommends", *PACKAGES],
    ):
        if subprocess.run(command, env=quiet).returncode:
            raise ClusterError(f"`{' '.join(command)}` failed: what it said is above")
