"""One scene of the soak: a suite with faults, an event, and the laws to check after it."""

import ctypes
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import psutil

from milabench_ddp.results.read_run import read_run
from milabench_ddp.results.read_state import require_state
from milabench_ddp.results.run_dir import RunDir
from tests.soak.faults import FAULTS, TORCHRUNS, Fault

REPOSITORY = Path(__file__).resolve().parents[2]
PATIENCE = 600.0  # seconds; only bounds a wait that would not end
_PR_SET_CHILD_SUBREAPER = 36
most_programs = 6  # of a scene, that are faulty
ON = ("--device", "cpu", "--gpus", "2", "--grace", "0.5")


def adopt_orphans() -> None:
    """Make this process adopt the orphans of its descendants, so that none escapes it."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


@dataclass
class Scene:
    """A suite in a folder of its own; ``faults`` has each law that was broken, as a sentence."""

    folder: Path
    draw: Random
    suite: Mapping[str, Fault]
    nodes: int = 1
    faults: list[str] = field(default_factory=list)
    told: dict[str, int] = field(default_factory=dict)  # how often each law was checked
    seconds: dict[str, list[float]] = field(default_factory=dict)  # from a fault to what comes next

    def __post_init__(self) -> None:
        for name in ("tmp", "ledgers", "base"):
            (self.folder / name).mkdir(exist_ok=True)
        lines = []
        for name, fault in self.suite.items():
            (self.folder / f"{name}.py").write_text(fault.program)
            plan = "njobs" if fault.torchrun else "per_gpu"
            lines.append(
                f"{name}: {{program: {name}.py, plan: {{method: {plan}}}, weight: 1, "
                f"max_duration: {fault.seconds}, num_machines: 1}}\n"
            )
        (self.folder / "suite.yaml").write_text("".join(lines))

    @property
    def run(self) -> RunDir:
        """The run folder."""
        return RunDir(self.folder / "base" / "runs" / "r")

    def start(self, *words: str, **options: object) -> "subprocess.Popen[bytes]":
        """Start the command; its output goes to files."""
        environ = {
            **os.environ,
            "TMPDIR": str(self.folder / "tmp"),
            "SOAK_LEDGERS": str(self.folder / "ledgers"),
            "MILABENCH_BASE": str(self.folder / "base"),
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": str(REPOSITORY),
        }
        with (self.folder / "out").open("ab") as out, (self.folder / "err").open("ab") as err:
            streams = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": err, **options}
            return subprocess.Popen(
                [sys.executable, "-m", "milabench_ddp", *words],
                cwd=self.folder, env=environ, start_new_session=True, **streams,  # type: ignore[call-overload]
            )  # fmt: skip

    def begin(self, **options: object) -> "subprocess.Popen[bytes]":
        """Start the run."""
        nodes = ["--nodes", str(self.nodes)] if self.nodes > 1 else []
        return self.start("run", "suite.yaml", *ON, *nodes, "--name", "r", **options)

    def begin_again(self) -> "subprocess.Popen[bytes]":
        """Resume the run, or start it if there is none yet."""
        if not self.run.run_json.exists():
            shutil.rmtree(self.run.path, ignore_errors=True)  # it was ended while it was made
            return self.begin()
        return self.start("run", "--resume", str(self.run.path))

    def finish(self) -> None:
        """Resume the run to its end: the results are then those without an event."""
        self.check_codes(self.wait(self.begin_again()), 0, 1)
        self.check_truth()
        self.check_report()

    def wait(self, process: "subprocess.Popen[bytes]") -> int:
        """Wait for the end of a command."""
        try:
            return process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.law("the command ends", False, f"it runs for {PATIENCE:.0f} s")
            process.kill()
            return process.wait()

    def law(self, name: str, holds: bool, what: object = "") -> None:
        """Note that a law was checked, and whether it holds."""
        self.told[name] = self.told.get(name, 0) + 1
        if not holds:
            self.faults.append(f"{name}: {what}")

    def said(self) -> str:
        """All that the commands printed."""
        texts = [(self.folder / name).read_text(errors="replace") for name in ("out", "err")]
        return "".join(texts)

    def check_codes(self, code: int, *allowed: int) -> None:
        """The exit code is one of these, and there is no traceback."""
        self.law("exit code", code in allowed, f"{code}, not {allowed}: {self.said()[-1500:]}")
        said = (self.folder / "err").read_text(errors="replace")  # reports show those of programs
        self.law("no traceback of milabench", "Traceback" not in said, said[-3000:])

    def check_clean(self) -> None:
        """Nothing is left: no process, no file outside of the run folder, no pipe."""
        deadline = time.monotonic() + PATIENCE
        while (left := self._processes()) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.law("no process is left", not left, left)
        # torchrun never removes the folder for its logs
        paths = (self.folder / "tmp").iterdir()
        kept = sorted(path.name for path in paths if not path.name.startswith("torchelastic_"))
        self.law("no temporary file is left", not kept, kept)
        pipes = [path.name for path in self.run.path.rglob("*") if path.is_fifo()]
        self.law("no pipe is left", not pipes, pipes)
        shared = self._shared_memory()
        self.law("no shared memory is left", not shared, shared)

    def _processes(self) -> list[str]:
        """The processes that are left, as text; zombies are reaped."""
        found = []
        for pid in self.own_processes():
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
            if command := self.command(pid):
                found.append(f"{pid} {command}")
        return found

    @staticmethod
    def own_processes() -> set[int]:
        """All processes of this scene."""
        return {process.pid for process in psutil.Process().children(recursive=True)}

    @staticmethod
    def command(pid: int) -> str:
        """The command line of a process; empty for one that is gone, or a zombie."""
        try:
            line = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return ""
        return line.replace(b"\0", b" ").decode(errors="replace")[:200]

    def reasons(self) -> tuple[bool, list[str]]:
        """Whether every benchmark that is not ok says why, and those that do not."""
        if not self.run.run_json.exists():
            return True, []
        states = require_state(self.run).benchmarks.items()
        silent = [name for name, each in states if str(each.status) != "ok" and not each.reason]
        return not silent, silent

    def _shared_memory(self) -> list[str]:
        """Files in /dev/shm that processes of this scene have made: theirs are newer than it."""
        began = (self.folder / "suite.yaml").stat().st_mtime
        mine = []
        for path in Path("/dev/shm").iterdir():
            pid = re.search(r"(\d{3,})", path.name)
            try:
                is_new = path.stat().st_mtime > began
            except OSError:
                continue
            if is_new and pid and (self.folder / "ledgers" / pid[1]).exists():
                mine.append(path.name)
        return mine

    def check_truth(self) -> None:
        """Each benchmark ended as its program says, with its reason, and lost no rate."""
        state = require_state(self.run)
        for name, fault in self.suite.items():
            found = state.benchmarks[name]
            self.law(
                "outcome",
                str(found.status) == fault.outcome,
                f"{name}: {found.status} {found.reason}",
            )
            self.law(
                "reason", bool(re.search(fault.reason, found.reason)), f"{name}: {found.reason}"
            )
        records = read_run(self.run.path).records
        self.law(
            "result files", len({each.tag.partition(".")[0] for each in records}) == len(self.suite)
        )
        for record in records:
            self.check_rates(record.tag, list(record.rates.rate), record.start)

    def measure(self) -> None:
        """How long it takes from each fault until the next benchmark begins."""
        states = require_state(self.run).benchmarks
        following = [*states.values()][1:]
        records = read_run(self.run.path).records
        for (name, state), after in zip(states.items(), following, strict=False):
            if name not in self.suite or state.started is None or after.started is None:
                continue
            began = state.started + self.suite[name].seconds
            if self.suite[name].outcome != "timeout":
                pids = [
                    (each.start or {}).get("pid")
                    for each in records
                    if each.tag.partition(".")[0] == name
                ]
                paths = [self.folder / "ledgers" / str(pid) for pid in pids]
                began = max((path.stat().st_mtime for path in paths if path.exists()), default=0.0)
            if began:
                self.seconds.setdefault(name, []).append(after.started - began)

    def check_rates(
        self, tag: str, rates: list[object], start: Mapping[str, object] | None
    ) -> None:
        """The rates of a file are those that its process wrote, from the first on."""
        self.law(
            "rates are right", rates == [100.0 + k for k in range(len(rates))], f"{tag}: {rates}"
        )
        ledger = self.folder / "ledgers" / str((start or {}).get("pid"))
        if ledger.exists():  # not that of a torchrun, whose ranks have pids of their own
            written = len(ledger.read_text().splitlines())
            self.law("no rate is lost", len(rates) >= written, f"{tag}: {len(rates)} of {written}")

    def check_report(self) -> None:
        """The report ends as documented, and names each benchmark that is not ok."""
        out = self.folder / "report.json"
        with out.open("wb") as file:
            code = self.wait(
                self.start("report", str(self.run.path), "--format", "json", stdout=file)
            )
        self.check_codes(code, 0, 1)
        document = json.loads(out.read_text())
        names = {row["name"] for row in document["benchmarks"]}
        ok = {name for name, fault in self.suite.items() if fault.outcome == "ok"}
        self.law("the report has what is ok", ok <= names, f"{names} lacks {ok - names}")

    def measured(self) -> Iterator[Path]:
        """The result files that have a rate by now."""
        for path in self.run.path.glob("*.data"):
            if b'"rate"' in path.read_bytes():
                yield path

    def await_rates(self, process: "subprocess.Popen[bytes]", benchmarks: int) -> None:
        """Wait until so many benchmarks have measured, or the command has ended."""
        while process.poll() is None:
            if len({path.name.split(".")[0] for path in self.measured()}) >= benchmarks:
                return
            time.sleep(0.01)


def cast(draw: Random, count: int, torchruns: int = 0) -> dict[str, Fault]:
    """So many programs by chance, a good one first and last among them."""
    faulty = [name for name in FAULTS if name != "good"]
    names = draw.sample(faulty, min(count, most_programs))
    found = {name: FAULTS[name] for name in names}
    for name in draw.sample(sorted(TORCHRUNS), torchruns):
        found[name] = TORCHRUNS[name]
    return {"good": FAULTS["good"], **found, "good-2": FAULTS["good"]}
