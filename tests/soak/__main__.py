"""Runs suites of faulty programs for hours, and checks that reports are true and nothing is left.

    python -m tests.soak [--minutes 30] [--seeds 20] [--at-once 2] [--scene NAME]

A scene is a suite of a few seconds, whose programs fail in known ways (``faults.py``), and an
event (``scenes.py``): a signal at any moment, a full disk, a killed agent of a node. The true
outcome, reason and rate of each program are known. Then benchmarks that ended well must be
unchanged, and ``--resume`` must run those that were cut off. At the end of each scene no process,
temporary file, pipe or shared memory may be left; descriptors and memory must not grow with the
number of benchmarks. No law depends on speed. Each scene has its own process, which adopts all
orphans. Prints each law that was broken, with its seed, and the counts.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from statistics import median

from tests.soak import scene as soak_scene
from tests.soak.scene import Scene, adopt_orphans
from tests.soak.scenes import SCENES


def play(name: str, seed: int, folder: Path) -> Scene:
    """Play a scene in an empty folder; this process adopts all of its orphans."""
    adopt_orphans()
    scene = SCENES[name](folder, Random(f"{name} {seed}"))
    scene.check_clean()
    return scene


def _play_one(name: str, seed: int, programs: int) -> None:
    """Play a scene, and print the findings as JSON."""
    soak_scene.most_programs = programs
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        scene = play(name, seed, Path(folder))
    found = {"laws": scene.told, "faults": scene.faults, "programs": list(scene.suite)}
    print(json.dumps({**found, "seconds": scene.seconds}))


def _schedule(names: list[str], seeds: int) -> Iterator[tuple[str, int]]:
    """Every scene with every seed, again and again: the outcome also depends on timing."""
    while True:
        for seed in range(seeds):
            for name in names:
                yield name, seed


def main() -> int:
    """Play scenes until the time is over, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--at-once", type=int, default=2)
    parser.add_argument("--scene", choices=SCENES)
    parser.add_argument("--programs", type=int, default=6, help="faulty ones of a scene, at most")
    parser.add_argument("--one", type=int, metavar="SEED", help="play one --scene, and print JSON")
    args = parser.parse_args()
    if args.one is not None:
        _play_one(args.scene, args.one, args.programs)
        return 0
    names = [args.scene] if args.scene else list(SCENES)
    if os.geteuid():
        names = [name for name in names if name != "full disk"]  # only root may mount
    return _play_all(names, args)


def _play_all(names: list[str], args: argparse.Namespace) -> int:
    end, schedule = time.monotonic() + 60 * args.minutes, _schedule(names, args.seeds)
    scenes, laws, programs = Counter[str](), Counter[str](), Counter[str]()
    seconds: dict[str, list[float]] = {}
    broken = 0
    running: dict[subprocess.Popen[str], tuple[str, int]] = {}
    while running or time.monotonic() < end:
        while len(running) < args.at_once and time.monotonic() < end:
            name, seed = next(schedule)
            command = [sys.executable, "-m", "tests.soak", "--scene", name, "--one", str(seed)]
            command += ["--programs", str(args.programs)]
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, text=True, cwd=soak_scene.REPOSITORY
            )
            running[process] = name, seed
        time.sleep(0.1)
        for process in [each for each in running if each.poll() is not None]:
            name, seed = running.pop(process)
            out, _ = process.communicate()
            if process.returncode:
                broken += 1
                print(f"== {name}, seed {seed}: the scene itself failed", flush=True)
                continue
            found = json.loads(out)
            scenes[name] += 1
            laws.update(found["laws"])
            programs.update(found["programs"])
            for program, times in found["seconds"].items():
                seconds.setdefault(program, []).extend(times)
            broken += len(found["faults"])
            for fault in found["faults"]:
                print(f"== {name}, seed {seed}: {fault}", flush=True)
    for title, counts in (("scenes", scenes), ("programs", programs), ("laws", laws)):
        print(f"{title}: {counts.total()}")
        for name, count in sorted(counts.items()):
            print(f"  {name:60} {count:7,}")
    print("seconds from a fault until the next benchmark begins: median, most")
    for program, times in sorted(seconds.items()):
        print(f"  {program:60} {median(times):7.1f} {max(times):7.1f}")
    print(f"broken laws: {broken}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
