"""Breaks good runs in every way, and shows every face of what is left.

    python -m tests.fuzz.broken_runs [COUNT] [--seed N] [--processes N]

Each of COUNT (10,000) attacks copies a good run and breaks one to three of its files: bytes are
flipped, lines are cut, doubled or swapped, files are emptied, gone, of another encoding, or
folders, links and FIFOs, JSON has wrong types, deep nesting, huge numbers, lone surrogates. Then
the commands that read runs show it. A traceback, a hang, no sentence about a file that is gone, or
another number of a benchmark whose files are whole, is a fault, which is printed with its seed.
``--processes`` is how many of the attacks start the command as a user does.
"""

import argparse
import io
import json
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from milabench_ddp.cli import main as milabench
from milabench_ddp.codec import read_record, write_record
from milabench_ddp.events import Outcome
from milabench_ddp.report.formats import FORMATS
from milabench_ddp.report.tables import REPORT_TABLES, TABLES
from milabench_ddp.results.rates import RateCounts
from milabench_ddp.results.state import BenchmarkState, LaunchState, ProcessState
from tests.fuzz.mutations import Broken, Draw, break_run
from tests.support import result_files as lines
from tests.support.bounded import WALL_SECONDS, bounded
from tests.support.described_runs import measured

REPOSITORY = Path(__file__).resolve().parents[2]
SWEEPS = ("latency", "throughput", "efficiency", "memory", "mfu")


def faces(run: Path, good: Path, out: Path) -> list[list[str]]:
    """The commands that show a run."""
    report = ["report", str(run)]
    found = [[*report, "--format", name] for name in FORMATS]
    found += [[*report, "--table", name] for name in (*TABLES, *REPORT_TABLES, *SWEEPS)]
    found += [[*report, "--compat", "--format", name] for name in ("text", "csv", "json")]
    found += [
        [*report, "--table", "numbers", "--csv"],
        [*report, "--predict", "4"],
        [*report, "--predict", "4", "--format", "json"],
        [*report, "--timeline", str(out / "timeline.json")],
        [*report, "--baseline", str(good)],
        ["report", str(good), "--baseline", str(run)],
        ["report", str(run), str(good), "--pool"],
        ["export", str(run), "--to", "csv", str(out / "tables")],
        ["compare", str(run), str(good)],
        ["compare", str(good), str(run), "--format", "json"],
        ["history", str(run), str(good)],
        ["history", str(run), "--format", "json"],
    ]
    return found


def good_runs(base: Path) -> list[Path]:
    """Runs of every kind, as they should be."""
    first = base / "first"
    shutil.copytree(REPOSITORY / "tests" / "recorded" / "first", first)
    kept = ("bert-ddp", "flops-bf16", "resnet50-loader")
    header = json.loads((first / "run.json").read_text())
    header["suite"] = {name: header["suite"][name] for name in kept}
    (first / "run.json").write_text(json.dumps(header, indent=1))
    for path in first.iterdir():
        if path.name != "run.json" and path.name.split(".")[0] not in kept:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    milabench = base / "milabench"
    shutil.copytree(REPOSITORY / "tests" / "recorded" / "milabench" / "rijubigo", milabench)
    old = base / "old"
    old.mkdir()
    for name in ("run.json", "bert-ddp.0.data", "comm-all-reduce.0.data"):
        shutil.copy(REPOSITORY / "tests" / "recorded" / "schema-1" / name, old / name)
    described = _with_processes(measured(base / "described"))
    return [first, milabench, old, described, _with_processes(_nodes(base / "nodes"))]


def _with_processes(run: Path) -> Path:
    """The run, whose states name the processes of each launch, as those of `run` do."""
    for path in run.glob("*/state.json"):
        state = read_record(path, BenchmarkState)
        ends = []
        for data in sorted(run.glob(f"{state.name}.*.data")):
            told = RateCounts(usable=1)
            ends.append(ProcessState(data.stem, 1, 0, Outcome.OK, "", 1000.0, 1060.0, told))
        state.launches = [LaunchState(None, Outcome.OK, "", tuple(ends))]
        write_record(path, state)
    return run


def _nodes(run: Path) -> Path:
    """A job on two nodes with all that a program and a monitor can tell."""
    lines.write_state(run, "ok", {"gpt": "ok"})
    (run / "nodes").mkdir()
    used = {
        "memory": [61000.0, 81559.0], "load": 0.98, "temperature": 61.0, "power": 640.0,
        "power_limit": 700.0, "sm_clock": 1755, "memory_clock": 2619, "headroom": 26.0,
        "clock_reasons": ["sw_power_cap"], "pcie": [120.5, 80.25], "nvlink": [9e4, 9e4],
        "pcie_link": [5, 16], "ecc": [0, 1], "remapped": [0, 0, 0, 0], "energy": 5.0,
    }  # fmt: skip
    for node in range(2):
        name = f"n{node}"
        facts = {"driver": f"580.{node}", "torch": "2.15"}
        state = {"name": name, "status": "joined", "facts": facts, "clock_offset": 0.9 * node}
        (run / "nodes" / f"{name}.json").write_text(json.dumps(state, indent=1))
        tag = ["gpt", "0", name, *(["nolog"] if node else [])]
        told = [lines.job("gpt", 2, 2, tag=tag), lines.line("meta", {"node": name}), lines.start()]
        for k in range(20):
            told.append(lines.sampled(1000.5 + k, d0={**used, "energy": 5.0 + 640 * k}))
            host = {"time": 1000.5 + k, "cpu": 0.5, "memory": [5.0, 9.0], "network": [1.0, 2.0]}
            told.append(lines.line("data", {"task": "main", "hostdata": host}, "data"))
        if not node:
            told.append(lines.timed_rates([100.0 + k % 3 for k in range(60)], rank=0, loss=0.5))
            for rank in range(4):
                ms = [250.0 + (k * 7 + rank) % 5 for k in range(60)]
                of_parts = {part: [50.0] * 60 for part in ("forward", "backward", "optimizer")}
                bucket = {"bytes": 4096, "ready_ms": 1.5, "ms": 2.0, "hidden_ms": 0.5}
                told.append(lines.steps(rank, ms, [0.5] * 60, parts=of_parts))
                told.append(lines.told(rank, memory_peak=[5.0, 9.0], node=f"n{rank // 2}"))
                told.append(lines.told(rank, buckets=[bucket], startup={"import_s": 1.5}))
            told.append(lines.told(model={"mode": "ddp", "tflops_per_gpu": 30.0, "layers": 3}))
            for size in (1024, 2048):
                told.append(lines.told(comm={"operation": "all_reduce", "bytes": size, "us": 9.0}))
                told.append(lines.told(pair={"ranks": [0, 1], "gb_s": 5.0, "nodes": ["n0", "n1"]}))
        lines.write(run, ".".join(tag), *told, lines.end(0, outcome="ok"))
    return run


def run_command(argv: Sequence[str]) -> tuple[int, str, str]:
    """The exit code, the output and the errors of a command, in this process."""
    out, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(errors), bounded():
        try:
            code = milabench(argv)
        except SystemExit as stopped:
            code = int(str(stopped.code or 0))
    return code, out.getvalue(), errors.getvalue()


def perfs(json_report: str) -> dict[str, object]:
    """The rate of each benchmark in a report."""
    return {row["name"]: row["perf"] for row in json.loads(json_report)["benchmarks"]}


class Attacker:
    """Breaks copies of good runs; ``faults`` has what went wrong."""

    def __init__(self, base: Path) -> None:
        self.base = base
        (base / "good").mkdir()
        self.good = good_runs(base / "good")
        self.known: dict[Path, dict[str, object]] = {}
        for run in self.good:
            code, out, errors = run_command(["report", str(run), "--format", "json"])
            assert code in (0, 1), errors
            self.known[run] = perfs(out)
        self.faults: list[str] = []
        self.shown = 0

    def attack(self, seed: int, count: int = 4, in_process: bool = True) -> None:
        """Break a run, and show so many of its faces, beside its text and its JSON."""
        draw = Draw(seed)
        good = self.good[seed % len(self.good)]
        run = self.base / f"broken-{seed}" / "runs" / good.name
        out = self.base / f"broken-{seed}" / "out"
        shutil.copytree(good, run, symlinks=True)
        out.mkdir()
        broken = break_run(draw, run)
        other = draw.choice(self.good)
        all_faces = faces(run, other, out)
        chosen = [all_faces[0], all_faces[2], *draw.sample(all_faces, count)]
        shown = []
        for argv in chosen:
            self.shown += 1
            fault, text = _fault(argv, in_process)
            shown.append(text)
            if fault:
                self.faults.append(f"seed {seed}, {broken.said}: {' '.join(argv)}\n{fault}")
        self.faults += [
            f"seed {seed}, {broken.said}: {it}" for it in self._lies(good, broken, str(run), shown)
        ]
        shutil.rmtree(self.base / f"broken-{seed}")

    def _lies(self, good: Path, broken: Broken, run: str, shown: Sequence[str]) -> Iterator[str]:
        """What a report does not say, or says that is not so."""
        text, document = shown[:2]
        if "more like it" in text:  # it shows the first of findings that are alike
            text += run_command(["report", run, "--table", "findings"])[1]
        for name in broken.replaced if "run.json" not in broken.files else ():
            named = name.removesuffix(".data") in text or name in text
            if name.endswith("/state.json"):
                named = named or (": lost: its state" in text and name.split("/")[0] in text)
            # a missing file is unknown without a run.json, or the state that names it
            is_known = name.endswith("state.json") or (good / "run.json").exists()
            state = f"{name.split('.')[0]}/state.json"
            is_known &= name not in broken.gone or state not in broken.files
            if text and not named and is_known and name.endswith((".data", "state.json")):
                yield f"{name} is not named\n{text}"
        if document.startswith("{") and "run.json" not in broken.files:
            found = perfs(document)
            for name, perf in self.known[good].items():
                is_whole = not any(
                    each.startswith((f"{name}.", f"{name}/")) for each in broken.files
                )
                if is_whole and found.get(name) != perf:
                    yield f"{name} was {perf}, and is {found.get(name)}"


def _fault(argv: Sequence[str], in_process: bool) -> tuple[str, str]:
    """What is wrong with how a command ends, if anything, and its output."""
    try:
        if in_process:
            code, out, errors = run_command(argv)
        else:
            command = [sys.executable, "-m", "milabench_ddp", *argv]
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=WALL_SECONDS, cwd=REPOSITORY
            )
            code, out, errors = done.returncode, done.stdout, done.stderr
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - any is a fault of the command
        return "".join(traceback.format_exception(error)[-12:]), ""
    if code not in (0, 1, 2, 130) or "Traceback" in errors:
        return f"exit code {code}: {errors[-2000:]}", out
    if code == 2 and not errors.startswith("milabench: "):
        return f"no sentence: {errors[-2000:]}", out
    if not out and not errors and argv[0] != "export":
        return "it says nothing", out
    return "", out


def main() -> None:
    """Print how many attacks there were, and each that did harm."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("count", type=int, nargs="?", default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=0)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        attacker = Attacker(Path(folder))
        for number in range(args.count):
            known = len(attacker.faults)
            attacker.attack(args.seed + number, in_process=number >= args.processes)
            for fault in attacker.faults[known:]:
                print(fault, flush=True)
    print(
        f"{args.count} broken runs, {attacker.shown} commands, of which {args.processes} x 6 in "
        f"processes of their own: {len(attacker.faults)} faults"
    )


if __name__ == "__main__":
    main()
