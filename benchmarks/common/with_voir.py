"""Measures a program that was not written for this suite: runs it, unmodified, under voir.

    python with_voir.py [--options '{"stop": 60}'] script.py [arguments of the script]
    torchrun --nproc-per-node 2 with_voir.py script.py [arguments of the script]

voir writes the same lines as our own programs, to the descriptor ``DATA_FD``. This script opens the
channel of the supervisor (``MILABENCH_METRICS``) as that descriptor, and then executes voir in its
place. Without a supervisor the lines are printed on stdout. If there are several ranks, only rank 0
reports: voir's lines do not have a rank, so the lines of several could not be told apart.

The voirfile has the instruments: ``$VOIRFILE``, or ``voirfile.py`` beside the script. ``--options``
sets fields of the dataclass that an instrument takes as its parameter ``options``.
"""

import argparse
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--options", type=_mapping, default={}, help="options of the voirfile, a JSON object"
    )
    parser.add_argument("script", type=Path, help="the program")
    parser.add_argument("args", nargs=argparse.REMAINDER, help="its arguments")
    return parser


def main() -> None:
    """Execute voir in place of this process; only an error returns from this function."""
    args = arguments().parse_args()
    if not args.script.is_file():
        arguments().error(f"no such script: {args.script}")
    voirfile = args.script.with_name("voirfile.py")
    if voirfile.is_file():
        os.environ.setdefault("VOIRFILE", str(voirfile))
    # Python puts the script's folder on its path, voir does not; the script may need it.
    folders = [str(args.script.resolve().parent), os.environ.get("PYTHONPATH")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, folders))
    os.environ["DATA_FD"] = str(data_fd())
    config = ["--config", config_file(args.options)] if args.options else []
    command = [sys.executable, "-m", "voir", *config, str(args.script), *args.args]
    os.execv(sys.executable, command)


def data_fd() -> int:
    path = os.environ.get("MILABENCH_METRICS")
    if int(os.environ.get("RANK", "0")) > 0:
        fd = os.open(os.devnull, os.O_WRONLY)
    elif path:
        fd = os.open(path, os.O_WRONLY)
    else:
        fd = os.dup(sys.stdout.fileno())  # voir would add escape codes to the lines on fd 1 itself
    os.set_inheritable(fd, True)
    return fd


def config_file(options: Mapping[str, Any]) -> str:
    """A file in memory with ``options`` for voir; it ends with the process."""
    fd = os.memfd_create("voir-options", 0)  # without MFD_CLOEXEC: it survives exec
    os.write(fd, json.dumps({"options": options}).encode())
    return f"/proc/self/fd/{fd}"


def _mapping(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise argparse.ArgumentTypeError(f"not JSON: {error}") from error
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError("not an object")
    return value


if __name__ == "__main__":
    main()
