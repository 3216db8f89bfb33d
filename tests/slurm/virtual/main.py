"""The command line of ``tests/slurm/cluster``."""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence

from . import needs
from .cluster import Cluster
from .errors import ClusterError
from .settings import read

DESCRIPTION = """\
A real Slurm cluster of virtual nodes on this one machine, for tests. Run as root:

    tests/slurm/cluster install
    tests/slurm/cluster up 4 --netns
    eval $(tests/slurm/cluster env)       now sbatch, srun, sacct, scancel and submitit work
    srun --nodes=2 --gres=gpu:2 hostname
    tests/slurm/cluster down

Partitions: train (the default), and scavenge, whose jobs give way to those of train.
"""
ENVIRONMENT = """\
environment:
  MILABENCH_SLURM_SLOT    0 to 9: clusters of different slots run side by side (0; tests use 5 to 9)
  MILABENCH_SLURM_DIR     its files (/tmp/milabench-slurm-SLOT)
  MILABENCH_SLURM_CPUS, _MEMORY, _GPUS
                          what each node claims to have (16, 64000 MB, 2)
  MILABENCH_SLURM_PORT, _NET, _BRIDGE
                          where the slot's own ports (18000 + 200 SLOT ...), addresses
                          (10.213.100 + SLOT, .K of node K) or bridge (mslSLOT) are taken
"""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(
        prog="tests/slurm/cluster",
        description=DESCRIPTION,
        epilog=ENVIRONMENT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = made.add_subparsers(dest="verb", required=True, metavar="COMMAND").add_parser
    add("install", help="apt-get the packages (10 s)")
    check = add("check", help="say what is missing here, and exit with 1; or say nothing")
    up = add("up", help="start nodes, return once all are idle (4 s)")
    up.add_argument("nodes", nargs="?", type=int, default=4, help="how many (default 4)")
    for made_for in (check, up):
        text = "a network interface and address for each node"
        made_for.add_argument("--netns", action="store_true", help=text)
    add("env", help="print `export SLURM_CONF=...`, to be eval-ed")
    add("status", help="nodes, jobs, and which nodes have power")
    run = add("exec", help="run a command on a node: exec node1 ps ax")
    run.add_argument("node")
    run.add_argument("command", nargs=argparse.REMAINDER)
    for verb, text in (
        ("crash", "power a node off: every process on it dies at once"),
        ("boot", "power a node on again, return once Slurm has it back"),
        ("cut", "pull a node's network cable"),
        ("heal", "plug it in again"),
        ("rate", "limit how fast a node sends: rate node2 200mbit, or off"),
    ):
        command = add(verb, help=text)
        command.add_argument("node")
        if verb == "rate":
            command.add_argument("rate")
    add("mend", help="undo all of these: every node on, every cable in, no limit")
    add("down", help="stop all of it; the logs stay")
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; 1 where something is missing or wrong."""
    args = parser().parse_args(argv)
    try:
        return run(Cluster(read()), args)
    except ClusterError as error:
        print(f"cluster: {error}", file=sys.stderr)
        return 1


def run(cluster: Cluster, args: argparse.Namespace) -> int:
    """Do what one verb says."""
    match args.verb:
        case "install":
            needs.install()
        case "check":
            if lacks := needs.missing(network=args.netns):
                raise ClusterError(lacks)
        case "up":
            cluster.up(args.nodes, network=args.netns)
        case "down":
            cluster.down()
        case "env":
            print(f"export SLURM_CONF={cluster.settings.conf}")
        case "status":
            return status(cluster)
        case "exec":
            return subprocess.run(cluster.node(args.node).command(args.command)).returncode
        case "crash":
            cluster.node(args.node).power_off()
        case "boot":
            cluster.boot(args.node)
        case "cut" | "heal":
            cluster.plug(args.node, connected=args.verb == "heal")
        case "mend":
            cluster.mend()
        case "rate":
            cluster.rate(args.node, args.rate)
    return 0


def status(cluster: Cluster) -> int:
    """Print what there is; 1 where the cluster is down."""
    if not cluster.is_up:
        raise ClusterError(f"no cluster is up in {cluster.settings.directory}")
    environ = os.environ | cluster.settings.environ
    for command in (["sinfo", "--Node", "--format=%N %P %T %c %m %G"], ["squeue"]):
        subprocess.run(command, env=environ)
    for node in cluster.nodes():
        print(f"{node.name}: {'on' if node.is_on else 'off'}")
    return 0
