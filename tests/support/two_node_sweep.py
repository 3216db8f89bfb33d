"""A sweep of small programs over two nodes on this machine, and ways to cut it off."""

import subprocess
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from milabench_ddp.results.state import BenchmarkState
from tests.support.wait import PATIENCE, wait_for
from tests.support.workplace import EMIT, Workplace

PROGRAM = (
    EMIT
    + """
here, name = os.path.dirname(os.path.abspath(__file__)), sys.argv[1]
with open(f"{here}/starts", "a") as starts:
    starts.write(name + "\\n")
for step in range(20):
    rate(100.0 + step % 3)
while name in open(f"{here}/held").read().split():
    time.sleep(0.02)
if name in open(f"{here}/broken").read().split():
    raise ValueError("the gradient went away")
"""
)
SWEEP = """
sweep:
  matrix: {kind: [a, b], nodes: [1, 2]}
  job:
    name: '{kind}-{nodes}'
    program: p.py
    plan: {method: per_gpu}
    num_machines: '{nodes}'
    max_duration: 600
    weight: 1
    argv: ['{kind}-{nodes}']
"""
ALL = {"a-1": 1, "a-2": 2, "b-1": 1, "b-2": 2}  # programs of each benchmark
LOCAL = ("--nodes", "2,1", "--gpus", "1", "--device", "cpu", "--name", "mine", "--grace", "1")


class Sweep:
    """A sweep of small programs that a test can hold or break."""

    def __init__(self, at: Workplace) -> None:
        self.at = at
        at.write("p.py", PROGRAM)
        at.write("sweep.yaml", SWEEP)
        self.hold()
        self.breaks()

    def hold(self, *names: str) -> None:
        self.at.write("held", " ".join(names))

    def breaks(self, *names: str) -> None:
        self.at.write("broken", " ".join(names))

    def started(self) -> dict[str, int]:
        """The number of programs of each benchmark that were started since the last call."""
        path = self.at.folder / "starts"
        found = Counter(path.read_text().split()) if path.exists() else Counter()
        path.unlink(missing_ok=True)
        return dict(found)

    def statuses(self) -> dict[str, str]:
        """The status of each benchmark."""
        return self.at.statuses()

    def programs(self) -> list[int]:
        """Agents and programs of this test that are alive."""
        return alive(str(self.at.folder))

    def state(self, name: str) -> BenchmarkState:
        """The recorded state of a benchmark."""
        return self.at.state().benchmarks[name]


def alive(text: str) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes()
        except OSError:
            continue
        if text.encode() in words and b"python" in words:
            found.append(int(path.parent.name))
    return found


LAST = ("b-2.D0.node0", "b-2.D1.node1")


def cut_off(
    sweep: Sweep,
    how: Callable[[subprocess.Popen[str]], None],
    options: Sequence[str] = LOCAL,
    tags: Sequence[str] = LAST,
) -> tuple[int, str, str]:
    """A sweep that is cut off while its second benchmark, ``b-2``, runs."""
    sweep.hold("b-2")
    files = [sweep.at.run() / f"{tag}.data" for tag in tags]
    with sweep.at.start("run", "sweep.yaml", *options, start_new_session=True) as process:
        wait_for(lambda: all(f.exists() and f.read_text().count('"rate"') == 20 for f in files))
        how(process)
        out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out, err
