"""What happens to the suites of the soak. A new scene is a function, and a line in ``SCENES``."""

import fcntl
import json
import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from random import Random

from tests.soak.faults import GOOD, Fault
from tests.soak.scene import Scene, cast

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
ENDING = (signal.SIGKILL, signal.SIGQUIT, signal.SIGUSR1, signal.SIGALRM, signal.SIGXCPU)
MANY = 25  # benchmarks of a scene that looks for leaks
GROWTH = 4096  # KiB that the memory may differ by between the fifth and the last of them
PROBE = """
def ancestor(pid):
    while pid > 1:
        if b"milabench_ddp" in open(f"/proc/{pid}/cmdline", "rb").read(): return pid
        pid = int(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[1])
status = dict(line.split(":", 1) for line in open(f"/proc/{ancestor(os.getppid())}/status"))
count = len(os.listdir(f"/proc/{ancestor(os.getppid())}/fd"))
probe = {"descriptors": count, "kib": int(status["VmRSS"].split()[0]),
         "threads": int(status["Threads"])}
with open(os.path.join(os.environ["SOAK_LEDGERS"], "probes"), "a") as probes:
    probes.write(json.dumps(probe) + "\\n")
"""


def plain(folder: Path, draw: Random) -> Scene:
    """Programs go wrong, and nothing else."""
    scene = Scene(folder, draw, cast(draw, 6))
    scene.check_codes(scene.wait(scene.begin()), 1, 0)
    scene.check_truth()
    scene.measure()
    scene.check_report()
    return scene


def torchruns(folder: Path, draw: Random) -> Scene:
    """A rank, or torchrun itself, is killed or hangs."""
    scene = Scene(folder, draw, cast(draw, 1, torchruns=2))
    scene.check_codes(scene.wait(scene.begin()), 1, 0)
    scene.check_truth()
    scene.measure()
    scene.check_report()
    return scene


def stopped(folder: Path, draw: Random) -> Scene:
    """The command is asked to stop, once or twice, and the run is resumed."""
    scene = Scene(folder, draw, cast(draw, 4))
    process = scene.begin()
    scene.await_rates(process, draw.randint(1, 4))
    number = draw.choice(STOPPING)
    for _ in range(draw.choice([1, 1, 2, 3])):
        if process.poll() is None:
            process.send_signal(number)
            time.sleep(draw.uniform(0, 0.2))
    scene.check_codes(scene.wait(process), 130, 0, 1)
    scene.check_clean()
    scene.finish()
    return scene


def stopped_early(folder: Path, draw: Random) -> Scene:
    """Ctrl-C while the command starts; then it is started again, or resumed."""
    scene = Scene(folder, draw, cast(draw, 1))
    process = scene.begin()
    time.sleep(draw.uniform(0, 1.5))
    process.send_signal(signal.SIGINT)
    scene.check_codes(scene.wait(process), 130, -signal.SIGINT, 0, 1)
    scene.check_clean()
    scene.finish()
    return scene


def ended(folder: Path, draw: Random) -> Scene:
    """The command is killed at any moment; two commands then resume the run at once."""
    scene = Scene(folder, draw, cast(draw, 4))
    process = scene.begin()
    scene.await_rates(process, draw.randint(1, 4))
    time.sleep(draw.uniform(0, 0.5))
    number = draw.choice(ENDING)
    process.send_signal(number)
    scene.check_codes(scene.wait(process), -number, 130, 0, 1)
    scene.check_clean()
    both = [scene.begin_again(), scene.begin_again()]
    codes = [scene.wait(each) for each in both]
    scene.law(
        "one of two that resume is refused, or finds nothing to run",
        2 in codes or codes[0] == codes[1],
        codes,
    )
    scene.check_codes(min(codes), 0, 1)
    for path in scene.run.path.glob("*.data"):
        starts = path.read_bytes().count(b'{"event": "start"')
        scene.law("one command runs a benchmark", starts == 1, f"{path.name}: {starts}")
    scene.check_truth()
    scene.check_report()
    return scene


def full_disk(folder: Path, draw: Random) -> Scene:
    """The disk of the run becomes full; with more room the run is resumed."""
    scene = Scene(folder, draw, cast(draw, 3) | {"floods-metrics": _flood()})
    base = folder / "base"
    mount = ["mount", "-t", "tmpfs", "-o", f"size={draw.choice([200, 400, 800, 1600])}k"]
    subprocess.run([*mount, "soak", str(base)], check=True)
    try:
        scene.check_codes(scene.wait(scene.begin()), 0, 1, 2)
        scene.check_clean()
        scene.law("a full disk is told", _tells_room(scene), scene.said()[-1500:])
        subprocess.run(["mount", "-o", "remount,size=64m", str(base)], check=True)
        scene.finish()
        scene.check_clean()
    finally:
        subprocess.run(["umount", "--lazy", str(base)], check=True)
    return scene


def _flood() -> Fault:
    return Fault(GOOD + "for k in range(40_000): emit({'step_ms': k})\nrates(20, 25)")


def _tells_room(scene: Scene) -> bool:
    said = scene.said()
    return "No space left" in said or "disk" in said


def lost_agent(folder: Path, draw: Random) -> Scene:
    """One of two nodes' agents is killed; the run is resumed."""
    scene = Scene(folder, draw, cast(draw, 3), nodes=2)
    process = scene.begin()
    scene.await_rates(process, draw.randint(1, 2))
    agents = [pid for pid in scene.own_processes() if "agent_main" in scene.command(pid)]
    if agents:
        os.kill(draw.choice(agents), signal.SIGKILL)
    scene.check_codes(scene.wait(process), 0, 1)
    scene.check_clean()
    scene.finish()
    return scene


def unread(folder: Path, draw: Random) -> Scene:
    """The command has no reader: its standard error is a pipe that is full, or closed."""
    scene = Scene(folder, draw, cast(draw, 3))
    reading, writing = os.pipe()
    if draw.random() < 0.5:
        os.close(reading)
    else:
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
        os.write(writing, bytes(4096))
    process = scene.begin(stderr=writing)
    os.close(writing)
    scene.check_codes(scene.wait(process), 0, 1)
    scene.check_truth()
    scene.check_report()
    return scene


def few_descriptors(folder: Path, draw: Random) -> Scene:
    """The command may open few files; with more of them the run is resumed."""
    scene = Scene(folder, draw, cast(draw, 2))
    most = draw.randint(12, 48)
    limit = partial(resource.setrlimit, resource.RLIMIT_NOFILE, (most, most))
    scene.check_codes(scene.wait(scene.begin(preexec_fn=limit)), 0, 1, 2)
    scene.check_clean()
    scene.law("each outcome has a reason", *scene.reasons())
    return scene


def many(folder: Path, draw: Random) -> Scene:
    """Many benchmarks of one command: its descriptors, threads and memory do not grow."""
    scene = Scene(folder, draw, {f"b{k}": Fault(GOOD + PROBE) for k in range(MANY)})
    scene.check_codes(scene.wait(scene.begin()), 0)
    probes = [json.loads(line) for line in (folder / "ledgers" / "probes").read_text().splitlines()]
    settled = probes[10:]  # two of each benchmark
    for name in ("descriptors", "threads"):
        seen = {probe[name] for probe in settled}
        scene.law(f"no more {name}", max(seen) <= min(seen) + 2, sorted(seen))
    kib = [probe["kib"] for probe in settled]
    scene.law("no more memory", kib[-1] - kib[0] < GROWTH, kib)
    scene.check_truth()
    return scene


SCENES: Mapping[str, Callable[[Path, Random], Scene]] = {
    "plain": plain,
    "torchruns": torchruns,
    "stopped": stopped,
    "stopped early": stopped_early,
    "ended": ended,
    "full disk": full_disk,
    "lost agent": lost_agent,
    "unread": unread,
    "few descriptors": few_descriptors,
    "many": many,
}
