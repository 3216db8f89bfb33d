"""Checks all that needs a GPU, within the minutes for which one is lent.

    bash perf/gpu_check.sh FOLDER [PART...] [--seconds 540] [--archive FILE] [--device cpu]
    bash perf/gpu_check.sh --plan     how long it takes, at the published rates of an H200

The parts, in this order: ``truth``, ``full``, ``rest``, ``tiny``. Each step is bounded, and so are
all together; ``--archive`` is written anew after each. The same command again, on a FOLDER in which
an archive was unpacked, goes on with what was cut off. Packages that are missing are taken from
``wheels/``. Exit status: 0, 1 if a step failed, 2 if nothing can be checked, 3 if time ran out.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from . import archive, packages
from .parts import PARTS
from .steps import Steps

ROOT = Path(__file__).resolve().parents[2]
LINES = 40  # on the screen
WIDTH = 100
TO_PACK = 10.0  # seconds, and to report
DEVICE = """
import sys, torch
kind, version = sys.argv[1], f"torch {torch.__version__} (CUDA {torch.version.cuda})"
name = "a rehearsal on the CPU"
if kind != "cpu":
    try:
        torch.cuda.init()
    except Exception as error:
        sys.exit(f"{version} of {sys.executable} sees no GPU: {error}; to rehearse: --device cpu")
    found = torch.cuda.get_device_properties(0)
    name = f"{found.name}, {found.total_memory / 2**30:.1f} GiB, {found.major}.{found.minor}"
print(f"{name}; {version}, Python {sys.version.split()[0]}")
"""


def options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="perf/gpu_check.sh",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("folder", type=Path, nargs="?", help="for runs, logs, packages and what has been done")
    add("parts", nargs="*", metavar="part", help=f"{', '.join(PARTS)}; by default all")
    add("--seconds", type=float, default=540.0, help="for all steps together")
    add("--archive", type=Path, help="by default gpu_check.tar.gz in the folder")
    add("--device", choices=("cuda", "cpu"), default="cuda", help="cpu: a rehearsal, preset small")
    add("--plan", action="store_true", help="print how long each step takes on an H200")
    found = parser.parse_intermixed_args(argv)
    if unknown := [part for part in found.parts if part not in PARTS]:
        parser.error(f"no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    if found.folder is None and not found.plan:
        parser.error("give a folder")
    return found


def main(argv: Sequence[str] | None = None) -> int:
    asked = options(argv)
    begin = time.monotonic()
    if asked.plan:
        from .expected import told  # needs all packages

        print(*told(), sep="\n")
        return 0
    folder = asked.folder.resolve()
    target = asked.archive or folder / "gpu_check.tar.gz"
    site = folder / "site"
    paths = os.pathsep.join(map(str, (ROOT, site)))
    environ = {
        **os.environ,
        "PYTHONPATH": f"{paths}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
        "PATH": f"{site / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    if lacking := packages.provide(ROOT / "wheels", site, environ):
        print(lacking, file=sys.stderr)
        return 2
    command = [sys.executable, "-c", DEVICE, asked.device]
    device = subprocess.run(command, env=environ, text=True, stdout=subprocess.PIPE)
    if device.returncode:
        print(f"nothing is checked: {sys.executable} cannot use {asked.device}", file=sys.stderr)
        return 2
    print(device.stdout.strip()[:WIDTH])

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # ends the step, too
    target.parent.mkdir(parents=True, exist_ok=True)
    steps = Steps(folder, environ, begin + asked.seconds - TO_PACK)
    for part in asked.parts or PARTS:
        for step in PARTS[part](asked.device, folder):
            print(steps.run(step)[:WIDTH], flush=True)
            archive.pack(folder, target)
    rows = steps.rows()
    room = LINES - 4 - len(steps.done)
    print(*(row[:WIDTH] for row in rows[:room]), sep="\n")
    if rows[room:]:
        print(f"... and {len(rows[room:])} more rows in the archive")
    size, seconds = target.stat().st_size / 1e6, time.monotonic() - begin
    print(f"{target}: {size:.2f} MB; {seconds:.0f} s in all")
    return steps.status


if __name__ == "__main__":
    sys.exit(main())
