"""Measures on a network of known rates: is a slow link named, its rate found, a step predicted?

    python -m tests.studies.shaped_links [--rates 50 200] [--nodes 4] [--repeat 2]

As root, with Slurm.

The virtual Slurm cluster of the tests gives each node a network of its own. First the cable of one
node is set to a rate, in Mbit/s: ``pairs`` has to name this node and no other, and ``all_reduce``
to show the rate. Then all cables are: a small GPT is trained under DDP on 1, 2 and all nodes, and
the step on all of them is predicted from the others, as ``report --predict`` does.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from milabench_ddp.report.assemble import report_of
from tests.slurm.conftest import closing_sweeps, missing
from tests.slurm.live import REPOSITORY, LiveCluster
from tests.slurm.slots import free_slot
from tests.slurm.sweeps import Sweep, ended

SLOW = 2  # the node whose cable is slow
SHARE = 1.04  # frames per payload: headers of Ethernet, IP and TCP
CONFIG = """\
include: {config}/_defaults.yaml
_patient:
  env: {{OMP_NUM_THREADS: '1'}}  # each node pretends to have all cores
  presets: {{small: {{max_duration: 1200}}}}
pairs:
  inherits: [_pairs, _patient]
  program: {benchmarks}/pairs/main.py
  num_machines: {nodes}
  argv: {{--bytes: 256Ki, --number: 4, --repeat: 3, --again: 3}}
all_reduce:
  inherits: [_torchrun, _patient]
  program: {benchmarks}/comm/main.py
  group: comm
  weight: 1
  num_machines: {nodes}
  argv: {{--op: all_reduce, --min-bytes: 64Ki, --max-bytes: 1Mi, --factor: 4, --number: 3}}
gpt:
  matrix: {{model: [gpt], nodes: [1, 2, {nodes}]}}
  job:
    name: gpt-{{nodes}}
    inherits: [_torchrun, _gpt, _patient]
    program: {benchmarks}/gpt/main.py
    num_machines: '{{nodes}}'
    argv:
      --mode: ddp
      --steps: {steps}
      --batch-size: 1
      --block-size: 8
      --vocab-size: 1024
      --bucket-cap-mb: 0.5
"""


class Measured:
    """Runs of the configuration on the cluster, a folder for each."""

    def __init__(self, cluster: LiveCluster, args: argparse.Namespace, folder: Path) -> None:
        """Run in sub-folders of ``folder``."""
        self._cluster, self._args, self._folder = cluster, args, folder
        places = {"config": REPOSITORY / "config", "benchmarks": REPOSITORY / "benchmarks"}
        self._config = folder / "links.yaml"
        self._config.write_text(CONFIG.format(nodes=args.nodes, steps=args.steps, **places))

    def run(self, name: str, rates: Mapping[str, int], select: str) -> Sweep:
        """Run what is selected while nodes send at these rates, in Mbit/s."""
        cluster, args = self._cluster, self._args
        cluster.reset()
        for node, rate in rates.items():
            cluster.rate(node, f"{rate}mbit")
        network = "{GLOO_SOCKET_IFNAME: eth0}"
        with closing_sweeps(cluster) as make:
            sweep = make(
                self._folder / name, {"quick": [args.nodes]}, environment=network, timeout=60
            )
            words: list[str | Path] = ["run", self._config, "--runner", sweep.profile]
            words += ["--base", sweep.folder, "--name", "sweep", "--device", "cpu", "--gpus", "1"]
            words += ["--preset", "small", "--select", select, "--nodes", f"{args.nodes},2,1"]
            words += ["--repeat", str(args.repeat)]
            code, out, err = ended(sweep.milabench(*words), timeout=args.patience)
            if code:
                print(out, err, sep="\n", file=sys.stderr)
            return sweep


def one_slow_link(measured: Measured, rate: int, nodes: int) -> None:
    """Which links are named, and which rate is found, where one node is slow."""
    sweep = measured.run(f"one-{rate}", {f"node{SLOW}": rate}, "pairs,all_reduce")
    made = report_of([sweep.run])
    named = [found for found in made.findings if found.name.startswith("slow_")]
    for found in named:
        print(f"{rate} Mbit/s at node{SLOW}: {found.name} {', '.join(found.nodes)}")
    for row in made.rows:
        for fit in row.tables.get("comm_fit", ()):
            # bytes over time, of which each rank sends 2 (N - 1)/N
            found = float(fit["beta_gb_s"]) * 2 * (nodes - 1) / nodes * 8e3 * SHARE
            print(f"  all_reduce: {found:.1f} Mbit/s, {found / rate - 1:+.1%}")
        speeds = [pair["gb_s"] for pair in row.tables.get("pair", ()) if pair.get("ways") == 1]
        if speeds:
            found = min(speeds) * 8e3 * SHARE
            print(f"  pairs, slowest: {found:.1f} Mbit/s, {found / rate - 1:+.1%}")


def all_slow(measured: Measured, rate: int, nodes: int) -> None:
    """The step on all nodes, predicted from the others."""
    rates = {f"node{number}": rate for number in range(1, nodes + 1)}
    sweep = measured.run(f"all-{rate}", rates, "gpt*")
    words: Sequence[str | Path] = ("report", sweep.run, "--predict", str(nodes))
    _, out, err = ended(sweep.milabench(*words))
    print(f"{rate} Mbit/s at all nodes:", out or err, sep="\n")
    _, out, _ = ended(sweep.milabench(*words, "--format", "json"))
    found: list[dict[str, Any]] = json.loads(out)["predictions"] if out else []
    for each in found:
        print(f"  the step on {nodes} nodes: predicted {each['check']['error']:+.1%} off")


def main() -> None:
    """Print what is found at each rate."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--rates", type=int, nargs="+", default=[50, 200], help="Mbit/s")
    add("--nodes", type=int, default=4)
    add("--repeat", type=int, default=2, help="launches of each benchmark")
    add("--steps", type=int, default=16)
    add("--patience", type=float, default=3000.0, help="seconds for a run")
    add("--parts", nargs="+", choices=("one", "all"), default=["one", "all"])
    args = parser.parse_args()
    if os.geteuid() or missing("--netns"):
        raise SystemExit(missing("--netns") or "it needs root")
    with free_slot() as slot, tempfile.TemporaryDirectory() as folder:
        cluster = LiveCluster(slot, args.nodes, network=True)
        cluster.up()
        try:
            measured = Measured(cluster, args, Path(folder))
            for rate in args.rates:
                if "one" in args.parts:
                    one_slow_link(measured, rate, args.nodes)
                if "all" in args.parts:
                    all_slow(measured, rate, args.nodes)
        finally:
            cluster.down()


if __name__ == "__main__":
    main()
