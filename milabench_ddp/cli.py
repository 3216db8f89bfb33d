"""The command line: argv -> one function of commands/; errors -> exit codes.

0: all ok. 1: some benchmark did not end ok. 2: usage or configuration. 130: interrupted.
"""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from . import __version__
from .errors import MilabenchError

_EPILOG = """\
examples:
  milabench run config/ddp.yaml             measure this machine
  milabench run ddp --select resnet50       one benchmark of a shipped suite
  milabench dry config/ddp.yaml --gpus 8    the bash that `run` would execute
  milabench report runs/<name>              what was measured
"""


def _positive(text: str) -> int:
    value = int(text) if text.isdecimal() else 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1 on")
    return value


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds")
    return value


def _counts(text: str) -> tuple[int, ...]:
    """``8,4,2,1``, the largest first, each once."""
    return tuple(sorted({_positive(word.strip()) for word in text.split(",")}, reverse=True))


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _suite(*, optional: bool = False) -> argparse.ArgumentParser:
    """The options of every command that reads a configuration, which may be optional."""
    parser = argparse.ArgumentParser(add_help=False)
    add = parser.add_argument
    add("config", metavar="CONFIG", nargs="?" if optional else None,
        help="a YAML file, or the name of a shipped suite (ddp)")  # fmt: skip
    add("--select", type=_names, action="extend", default=[], metavar="A,B",
        help="only these: names, globs, groups, tags")  # fmt: skip
    add("--exclude", type=_names, action="extend", default=[], metavar="A,B", help="all but these")
    add("--override", action="append", default=[], metavar="NAME.KEY=VALUE",
        help="replace a value, e.g. 'resnet*.argv.--batch-size=32'")  # fmt: skip
    add("--preset", default="auto", help="small, full, ... (auto: full on GPUs, small without)")
    add("--system", metavar="FILE", help="a system.yaml: nodes, GPUs, sizing")
    add("--device", choices=("cuda", "rocm", "hpu", "xpu", "cpu"), help="which kind to use")
    add("--gpus", type=_positive, metavar="N", help="devices of a node; CPU slots on --device cpu")
    add("--nodes", type=_counts, metavar="N[,N...]",
        help="nodes, with such devices each; several: the node counts of a sweep")  # fmt: skip
    add("--base", metavar="DIR", help="where runs/, data/ and venv/ are ($MILABENCH_BASE, or here)")
    return parser


def _where() -> argparse.ArgumentParser:
    """The options that say where a run happens; they win over the runner's profile."""
    parser = argparse.ArgumentParser(add_help=False)
    add = parser.add_argument_group("several nodes").add_argument
    add("--runner", metavar="PROFILE", help="slurm, ssh, local, or a runner's YAML file")
    add("--partition", help="of the cluster")
    add("--account", help="that pays")
    add("--qos", help="quality of service")
    add("--timeout", type=_positive, metavar="MIN", help="minutes of a job")
    add("--job-dir", metavar="DIR", help="for the scheduler's files, seen by all nodes")
    add("--gpus-per-node", type=_positive, metavar="N", help="that a job asks for; also --gpus")
    add("--exclude-nodes", metavar="A,B", help="nodes that are not to be used")
    add("--allocation", choices=("shared", "separate"),
        help="one job for all points of a sweep, or one for each")  # fmt: skip
    return parser


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="milabench",
        description="How fast do your GPUs really train?",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"milabench {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="COMMAND", required=True)
    suite = _suite()

    run = verbs.add_parser(
        "run", parents=[_suite(optional=True), _where()], help="run a suite and report on it"
    )
    run.add_argument("--resume", metavar="RUN", help="do what is missing in this run folder")
    run.add_argument("--name", help="the name of the run (default: a new one, with the date)")
    run.add_argument("--repeat", type=_positive, default=1, metavar="K", help="run all K times")
    run.add_argument("--grace", type=_seconds, default=5.0, metavar="S",
                     help="seconds between SIGTERM and SIGKILL (default 5)")  # fmt: skip
    run.add_argument("--gpu-poll", type=_seconds, default=None, metavar="S",
                     help="seconds between samples of the devices, 0 for none")  # fmt: skip
    run.add_argument("--detach", action="store_true",
                     help="do not wait for a cluster's jobs: `milabench watch` does")  # fmt: skip
    run.add_argument("--quiet", action="store_true", help="no progress, only the report")

    dry = verbs.add_parser(
        "dry", parents=[suite, _where()], help="print the bash that `run` would execute"
    )
    dry.add_argument("--repeat", type=_positive, default=1, metavar="K", help="everything K times")

    resolve = verbs.add_parser("resolve", parents=[suite], help="print the resolved configuration")
    resolve.add_argument("--explain", action="store_true", help="each value's file and line")

    verbs.add_parser("list", parents=[suite], help="what would run, and why the rest would not")

    verbs.add_parser("prepare", parents=[suite], help="make the data that benchmarks read, once")
    install = verbs.add_parser(
        "install", parents=[suite], help="make the environments that benchmarks need"
    )
    install.add_argument("--force", action="store_true", help="make them anew")

    watch = verbs.add_parser("watch", help="follow a run that goes on, and report at its end")
    watch.add_argument("run", metavar="RUN", help="its folder")
    cancel = verbs.add_parser("cancel", help="end the jobs of a run")
    cancel.add_argument("run", metavar="RUN", help="its folder")

    report = verbs.add_parser("report", help="what was measured, from the folders of runs")
    report.add_argument(
        "runs", nargs="+", metavar="RUN", help="a folder of results; several: pooled"
    )
    report.add_argument("--compat", action="store_true", help="milabench's own formulas, exactly")
    report.add_argument("--format", choices=("text", "csv", "json"), default="text")
    add = report.add_argument
    add("--csv", action="store_true", help="short for --format csv")
    text = "a sweep as a table of latency, throughput, efficiency, memory, mfu, compile_s, ...; "
    text += "or steps, ranks, communication, curve, sweeps: one table alone"
    add("--table", metavar="METRIC", help=text)
    add("--rows", type=_names, default=[], metavar="A,B", help="the settings of its rows")
    add("--cols", type=_names, default=[], metavar="A,B", help="the settings of its columns")
    report.add_argument("--config", metavar="CONFIG", help="take the weights from here")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    options = build_parser().parse_args(argv)
    try:
        command = importlib.import_module(f"{__package__}.commands.{options.verb}")
        return int(command.main(options))
    except MilabenchError as error:
        print(f"milabench: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read our output has gone; let the interpreter's last flush find no pipe either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


if __name__ == "__main__":
    sys.exit(main())
