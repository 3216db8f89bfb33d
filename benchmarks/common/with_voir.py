"""Measures a program of others: runs it, unmodified, under voir.

    python with_voir.py [--options '{"stop": 60}'] script.py [arguments of the script]
    torchrun --nproc-per-node 2 with_voir.py script.py [arguments of the script]

voir writes the lines that our own programs write, to the descriptor ``DATA_FD``; this opens
the channel of the supervisor (``MILABENCH_METRICS``) as that descriptor and becomes voir. Without a
supervisor the lines are printed on stdout. Of several ranks only the first reports: voir's lines do
not name their rank, so those of all ranks could not be distinguished.

The voirfile says which instruments there are: ``VOIRFILE``, or ``voirfile.py`` beside the script.
``--options`` sets fields of the dataclass that its instrument has as the parameter ``options``.
"""

import argparse
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def arguments() -> argparse.ArgumentParser:
    """The command line."""
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
    """Become voir; only an error ends this function."""
    args = arguments().parse_args()
    if not args.script.is_file():
        arguments().error(f"there is no script {args.script}")
    voirfile = args.script.with_name("voirfile.py")
    if voirfile.is_file():
        os.environ.setdefault("VOIRFILE", str(voirfile))
    # Python puts a script's folder on its path, voir does not; the script may rely on it.
    folders = [str(args.script.resolve().parent), os.environ.get("PYTHONPATH")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, folders))
    os.environ["DATA_FD"] = str(data_fd())
    config = ["--config", config_file(args.options)] if args.options else []
    command = [sys.executable, "-m", "voir", *config, str(args.script), *args.args]
    os.execv(sys.executable, command)


def data_fd() -> int:
    """An inheritable descriptor for voir's lines."""
    path = os.environ.get("MILABENCH_METRICS")
    if int(os.environ.get("RANK", "0")) > 0:
        fd = os.open(os.devnull, os.O_WRONLY)
    elif path:
        fd = os.open(path, os.O_WRONLY)
    else:
        fd = os.dup(sys.stdout.fileno())  # on 1 itself voir would add escape codes to the lines
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
