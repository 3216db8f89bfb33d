"""The process of a node agent.

    python -m milabench_ddp.dispatch RUN --rank K [--of N] [--leader FILE] [--address HOST]

Its leader is at the other end of standard input and output, or where ``FILE`` says. With ``--of``
this host stands in for N nodes.
"""

import argparse
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

from ..errors import MilabenchError
from ..launch.node_run import LaunchRunner, SampleRouter, device_monitor
from ..launch.stop_requests import stopped_by_signals
from ..machine.detect import detect, partition
from ..machine.devices import Node
from ..machine.provenance import collect, meta
from ..results.planfile import RunPlan, read_plan
from ..results.run_dir import RunDir
from ..results.write import DataHeader
from . import wire
from .address import connect
from .channel import Channel
from .node import LeaderLostError, NodeAgent
from .patience import Patience

NODE = "MILABENCH_NODE"  # tells a program the name of its node


def main(argv: list[str] | None = None) -> int:
    """Serve until the leader has nothing more to do; 1 where it is lost, 2 where it cannot."""
    parser = argparse.ArgumentParser(prog="milabench_ddp.dispatch", description=__doc__)
    parser.add_argument("run", type=Path, help="the run folder, which all nodes see")
    parser.add_argument("--rank", type=int, required=True, help="of this node")
    parser.add_argument("--of", type=int, default=0, metavar="N", help="nodes on this host")
    parser.add_argument("--name", help="of this node; that of its host unless it is given")
    parser.add_argument("--leader", type=Path, metavar="FILE", help="where it says where it is")
    parser.add_argument("--address", default="127.0.0.1", help="where the other nodes reach this")
    parser.add_argument(
        "--patience", type=float, metavar="S", help="seconds without a sign of life"
    )
    options = parser.parse_args(argv)
    patience = Patience() if options.patience is None else Patience(silence=options.patience)
    stdio = _stdio()
    try:
        return _serve(options, read_plan(RunDir(options.run).plan_json), stdio, patience)
    except (LeaderLostError, MilabenchError) as error:
        print(f"node {options.rank}: {error}", file=sys.stderr, flush=True)
        if options.leader is None:
            stdio.send(say="problem", text=str(error))
        return 1 if isinstance(error, LeaderLostError) else 2


def _stdio() -> Channel:
    """The channel on standard input and output; what anybody prints goes to standard error."""
    read, write = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    return Channel(read, write, lambda: None)


def _serve(options: argparse.Namespace, plan: RunPlan, stdio: Channel, patience: Patience) -> int:
    node = _node(options, plan)
    machine = collect(plan.arch, node, sys.argv, os.environ)
    header = DataHeader(options.run.name, plan.arch, {**meta(machine), "node": node.name})
    router = SampleRouter()
    environ = {**os.environ, NODE: node.name}
    runner = LaunchRunner(RunDir(options.run), header, router, environ, plan.grace)
    agent = NodeAgent({b.name: b for b in plan.benchmarks}, runner, patience)
    hello = {"rank": options.rank, "node": wire.of_node(node), "address": options.address}
    signal.signal(signal.SIGUSR2, lambda *_: None)  # Slurm's warning; the leader heeds it
    with (
        stopped_by_signals(agent),
        device_monitor(plan.arch, node.devices, plan.gpu_poll, router),
    ):
        if options.leader is None:
            agent.serve(stdio, hello)
            return 0
        while found := connect(options.leader, patience, lambda: agent.is_stopped):
            channel, token = found
            try:
                agent.serve(channel, {**hello, "token": token})
            except LeaderLostError as error:
                print(f"node {options.rank}: {error}", file=sys.stderr, flush=True)
            else:
                break
            finally:
                channel.close()
    return 0


def _node(options: argparse.Namespace, plan: RunPlan) -> Node:
    if options.of:
        return partition(plan.arch, plan.gpus or 1, options.rank, options.of, os.environ)
    node = detect(plan.arch, plan.gpus, os.environ).cluster.nodes[0]
    return replace(node, name=options.name or node.name)


if __name__ == "__main__":
    sys.exit(main())
