"""Records the README's output anew: runs the README's command, keeps the run and its report.

    python docs/record.py

The checkout must have no changes. It takes two to three minutes on two cores. The files that
``report`` reads go to ``tests/recorded/first``, with the paths of this machine replaced; the first
lines of the report go into the block of README.rst that follows MARKER, a chart to PICTURE.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Mapping
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
README = REPOSITORY / "README.rst"
RECORDED = REPOSITORY / "tests" / "recorded" / "first"
MARKER = ".. the output of a real run"
WIDTH = "100"  # of the report, in columns
SHOWN = 16  # its lines in the README
PICTURE = REPOSITORY / "docs" / "first-run.svg"
CHART = "gpt-fsdp.ledger.svg"  # of ``report --plots``, which the picture is


def command_of(readme: str) -> list[str]:
    """The README's command that runs the suite, as words."""
    return re.findall(r"^    pip install -e \. && (milabench run .+)$", readme, re.M)[0].split()


def excerpt(report: str) -> str:
    """The first lines of a report, and dots if there are more."""
    lines = report.strip("\n").splitlines()
    return "\n".join([*lines[:SHOWN], *["..."][: len(lines) > SHOWN]]) + "\n"


def with_report(readme: str, report: str) -> str:
    """The README with the excerpt as the literal block after MARKER, in place of the old one."""
    before, marker, after = readme.partition(MARKER)
    comment, literal, rest = after.partition("\n::\n\n")
    if not marker or not literal:
        raise SystemExit(f"README.rst has no literal block after `{MARKER}`")
    rest_lines = rest.splitlines(keepends=True)
    end = 0
    while end < len(rest_lines) and (rest_lines[end].isspace() or rest_lines[end][0] == " "):
        end += 1
    block = textwrap.indent(excerpt(report), "    ")
    return f"{before}{marker}{comment}{literal}{block}\n{''.join(rest_lines[end:])}"


def keep(run: Path, target: Path, replaced: Mapping[str, str]) -> None:
    """Replace an older recording by the files of a run folder that ``report`` reads.

    Args:
        run: the run folder.
        target: the folder of the recording.
        replaced: the replacement of each path of this machine.
    """
    shutil.rmtree(target, ignore_errors=True)
    for path in sorted(run.rglob("*")):
        if path.suffix not in (".data", ".json") or path.name == "plan.json":
            continue
        text = path.read_text()
        for ours, theirs in replaced.items():
            text = text.replace(ours, theirs)
        copy = target / path.relative_to(run)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(text)


def output_of(command: list[str], folder: Path) -> str:
    """The standard output of a command; its messages go to this terminal."""
    path = f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}"
    env = {**os.environ, "COLUMNS": WIDTH, "PATH": path}
    done = subprocess.run(command, cwd=folder, env=env, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: exit status {done.returncode}")
    return done.stdout


def main() -> None:
    """Record the run and its report."""
    if output_of(["git", "status", "--porcelain"], REPOSITORY):
        raise SystemExit("commit your changes first: the report names the commit that ran")
    with tempfile.TemporaryDirectory() as name:
        base = Path(name).resolve() / "base"
        command = command_of(README.read_text())
        output_of([*command, "--base", str(base), "--name", "first"], REPOSITORY)
        replaced = {
            str(base): "/base",
            sys.prefix: "/venv",
            str(REPOSITORY): "/checkout",
        }
        kept = Path(name) / "kept" / "runs" / "first"
        keep(base / "runs" / "first", kept, replaced)
        told = ["milabench", "report", "runs/first"]
        report = output_of(told, kept.parents[1])
        if report != output_of(told, base):
            raise SystemExit("the report of the recording is not that of the run")
        output_of(["milabench", "report", str(kept), "--plots", f"{name}/charts"], REPOSITORY)
        shutil.copyfile(f"{name}/charts/{CHART}", PICTURE)
        keep(kept, RECORDED, {})
    README.write_text(with_report(README.read_text(), report))
    print(f"{README.name} and {RECORDED.relative_to(REPOSITORY)} are as of this run")


if __name__ == "__main__":
    main()
