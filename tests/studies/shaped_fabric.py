"""Measures a fabric of known rates: by how much it blocks, and what another order of nodes gains.

    python -m tests.studies.shaped_fabric [--rate 100] [--nodes 4]

As root. Each node is a network namespace, whose cable sends at most ``--rate`` Mbit/s. First there
are two bridges, with half of the nodes each, and an uplink between them of the rate of one cable:
of N nodes, N / 2 pairs share it, so they get 2 / N of what one pair gets alone. Then one bridge has
all nodes, and the link between the first two is slow, both ways, by a class of its own in their
queues: a ring in the order of the nodes waits for it. All-reduces are measured in this order, and
in the one that the report says.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.ring_order import ring_order
from tests.support.result_files import end, job, line, start, write
from tests.support.wait import PATIENCE

REPOSITORY = Path(__file__).resolve().parents[2]
SLOW = 4  # times as slow is the slow link
PAIRS = "--among across --schedule both --bytes 256Ki --number 3 --repeat 3 --warmup 1 --again 1"
RING = "--op all_reduce --min-bytes 1Mi --max-bytes 1Mi --number 2 --repeat 3"


def missing() -> str:
    """What is missing for such networks, as a sentence, or nothing."""
    absent = [name for name in ("ip", "tc") if shutil.which(name) is None]
    if absent:
        return f"not installed: {', '.join(absent)}"
    return "networks of their own need root" if os.geteuid() else ""


def call(words: str) -> None:
    """Run a command; raises ``CalledProcessError`` if it fails."""
    subprocess.run(words.split(), check=True, capture_output=True)


class Fabric:
    """Network namespaces on one bridge, or on two; made by ``fabric``."""

    def __init__(self, nodes: int, rate: int) -> None:
        """The names of all that is to be made, for cables of ``rate`` Mbit/s."""
        self.nodes, self.rate, self.name = nodes, rate, f"mb{os.getpid()}"

    def up(self, bridges: int) -> None:
        """Make it."""
        name, shaper = self.name, f"tbf rate {self.rate}mbit burst 32kb latency 100ms"
        for number in range(bridges):
            call(f"ip link add {name}b{number} type bridge")
            call(f"ip link set {name}b{number} up")
        if bridges == 2:
            call(f"ip link add {name}u0 type veth peer name {name}u1")
            for side in range(2):
                call(f"ip link set {name}u{side} master {name}b{side} up")
                call(f"tc qdisc add dev {name}u{side} root {shaper}")
        for node in range(self.nodes):
            space, bridge = f"{name}n{node}", f"{name}b{node * bridges // self.nodes}"
            call(f"ip netns add {space}")
            call(f"ip link add {name}c{node} type veth peer name eth0 netns {space}")
            call(f"ip link set {name}c{node} master {bridge} up")
            call(f"ip -n {space} address add 10.77.0.{node + 1}/24 dev eth0")
            call(f"ip -n {space} link set lo up")
            call(f"ip -n {space} link set eth0 up")
            call(f"tc -n {space} qdisc add dev eth0 root handle 1: htb default 1")
            call(f"tc -n {space} class add dev eth0 parent 1: classid 1:1 htb rate {self.rate}mbit")

    def slow_down(self, first: int, second: int) -> None:
        """Make the link between two nodes ``SLOW`` times as slow, both ways."""
        for node, other in ((first, second), (second, first)):
            own = f"tc -n {self.name}n{node}"
            rate = self.rate / SLOW
            call(f"{own} class add dev eth0 parent 1: classid 1:2 htb rate {rate}mbit")
            to = f"match ip dst 10.77.0.{other + 1}/32 flowid 1:2"
            call(f"{own} filter add dev eth0 parent 1: protocol ip u32 {to}")

    def down(self) -> None:
        """Remove what is there."""
        for node in range(self.nodes):
            subprocess.run(["ip", "netns", "delete", f"{self.name}n{node}"], capture_output=True)
        for link in ("u0", "b0", "b1"):
            subprocess.run(["ip", "link", "delete", self.name + link], capture_output=True)

    def run(self, program: str, words: str, order: Sequence[int], folder: Path) -> Path:
        """Run a program on a rank on each node, in this order; the folder of its result file."""
        folder.mkdir()
        told = folder / "told"
        told.touch()
        fixed = {
            "WORLD_SIZE": str(len(order)),
            "MASTER_ADDR": f"10.77.0.{order[0] + 1}",
            "MASTER_PORT": "29500",
            "GLOO_SOCKET_IFNAME": "eth0",
            "OMP_NUM_THREADS": "1",
            "MILABENCH_METRICS": str(told),
        }
        processes = []
        for rank, node in enumerate(order):
            own = {"RANK": str(rank), "LOCAL_RANK": "0", "MILABENCH_NODE": f"n{node}"}
            command = ["ip", "netns", "exec", f"{self.name}n{node}", sys.executable]
            command += [f"{REPOSITORY}/benchmarks/{program}/main.py", "--device", "cpu"]
            processes.append(
                subprocess.Popen(
                    [*command, *words.split()],
                    env=os.environ | fixed | own,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
        try:
            for process in processes:
                _, err = process.communicate(timeout=PATIENCE)
                assert process.returncode == 0, err
        finally:
            for process in processes:
                process.kill()
        lines = [line("data", json.loads(each), "data") for each in told.read_text().splitlines()]
        settings = job(program, 1, len(order), tags=["validate"])
        about = line("meta", {"node": f"n{order[0]}"})
        write(folder, f"{program}.0", settings, about, start(), *lines, end())
        return folder


@contextmanager
def fabric(nodes: int, rate: int, bridges: int) -> Iterator[Fabric]:
    """The nodes with cables of ``rate`` Mbit/s, for a block."""
    made = Fabric(nodes, rate)
    try:
        made.up(bridges)
        yield made
    finally:
        made.down()


def blocking(nodes: int, rate: int, folder: Path) -> tuple[float, float]:
    """The share of their bandwidth that pairs across two bridges have: true, and as found."""
    with fabric(nodes, rate, bridges=2) as made:
        report = report_of([made.run("pairs", PAIRS, range(nodes), folder / "pairs")])
    found = [each for each in report.findings if each.name == "blocking_fabric"]
    return 2 / nodes, float(found[0].evidence["share"]) if found else 1.0


def gained(nodes: int, rate: int, folder: Path) -> tuple[float, float, tuple[int, ...]]:
    """By how much all-reduces are faster in another order: predicted, as measured; the order."""
    with fabric(nodes, rate, bridges=1) as made:
        made.slow_down(0, 1)
        (row,) = report_of([made.run("pairs", PAIRS, range(nodes), folder / "pairs")]).rows
        ring = ring_order(row)
        assert ring is not None, "the slow link was not found"
        order = tuple(int(node[1:]) for node in ring.order)
        speeds = []
        for name, each in (("before", tuple(range(nodes))), ("after", order)):
            (row,) = report_of([made.run("comm", RING, each, folder / name)]).rows
            speeds.append(float(row.tables["comm"][-1]["bus_gb_s"]))
    return ring.gain, speeds[1] / speeds[0] - 1, order


def main() -> None:
    """Print what is true and what is found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--rate", type=int, default=100, help="Mbit/s of a cable")
    add("--nodes", type=int, nargs="+", default=[4, 6])
    args = parser.parse_args()
    if said := missing():
        raise SystemExit(said)
    with tempfile.TemporaryDirectory() as folder:
        for nodes in args.nodes:
            places = [Path(folder, f"{part}-{nodes}") for part in ("blocking", "gained")]
            for place in places:
                place.mkdir()
            true, found = blocking(nodes, args.rate, places[0])
            print(f"{nodes} nodes share an uplink: {found:.3f} of alone, true {true:.3f}")
            predicted, measured, order = gained(nodes, args.rate, places[1])
            print(
                f"  in the order {order}: {measured:+.0%}, predicted {predicted:+.0%}", flush=True
            )


if __name__ == "__main__":
    main()
