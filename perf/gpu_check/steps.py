"""Runs steps, each until a deadline, and keeps what has been done."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .parts import Step

LONGEST = 540.0  # seconds of a step
TO_STOP = 30.0  # seconds in which a step that is stopped ends by itself
OK, FAILED, CUT_OFF, NOT_BEGUN = "ok", "FAILED", "cut off", "not begun"
FULL = ("full", "rest")  # runs of full size: each of their benchmarks is told


class Steps:
    """The steps of a folder: ``done.json`` has how each ended, ``logs/`` what it printed."""

    def __init__(self, folder: Path, environ: Mapping[str, str], deadline: float) -> None:
        """Run steps with these variables, and stop at ``deadline``, of the monotonic clock."""
        self._folder, self._environ, self._deadline = folder, environ, deadline
        self._kept = folder / "done.json"
        self._earlier: dict[str, dict[str, Any]] = {}
        if self._kept.exists():
            self._earlier = json.loads(self._kept.read_text())
        self.done: dict[str, str] = {}  # by this command, or before
        (folder / "logs").mkdir(parents=True, exist_ok=True)

    def run(self, step: Step) -> str:
        """Run a step that has not ended yet; returns a line that tells how it ended."""
        earlier = self._earlier.get(step.title, {"ended": CUT_OFF})
        if earlier["ended"] != CUT_OFF:
            self.done[step.title] = earlier["ended"]
            return _line(earlier["ended"], earlier["seconds"], step.title, "before")
        left = min(LONGEST, self._deadline - time.monotonic()) - TO_STOP
        if left <= 0:
            self.done[step.title] = NOT_BEGUN
            return _line(NOT_BEGUN, 0, step.title)
        log = self._folder / "logs" / f"{step.title.replace(' ', '_')}.log"
        begin = time.monotonic()
        ended = self._until(step, log, left)
        seconds = time.monotonic() - begin
        self._earlier[step.title] = {"ended": ended, "seconds": seconds}
        self._kept.write_text(json.dumps(self._earlier, indent=1))
        self.done[step.title] = ended
        is_plain = ended == OK and not step.run
        said = "" if is_plain else _said(log.read_text(errors="replace"))
        return _line(ended, seconds, step.title, said)

    def _until(self, step: Step, log: Path, seconds: float) -> str:
        argv = step.argv
        run = self._folder / "runs" / step.run
        if step.run and (run / "run.json").exists():
            place = ["--base", str(self._folder), "--resume", step.run, "--quiet"]
            argv = ["-m", "milabench_ddp", "run", *place]
        elif step.run and run.exists():  # killed before there was anything to go on with
            shutil.rmtree(run)
        with log.open("ab") as output:
            process = subprocess.Popen(
                [sys.executable, *argv],
                env=self._environ,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                process_group=0,
            )
            try:
                return FAILED if process.wait(seconds) else OK
            except subprocess.TimeoutExpired:
                return CUT_OFF
            finally:  # also where this command is stopped
                process.terminate()
                try:
                    process.wait(TO_STOP)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()

    @property
    def status(self) -> int:
        """That of the command: whether one failed, or time ran out."""
        ends = set(self.done.values())
        return 1 if FAILED in ends else 3 if ends & {CUT_OFF, NOT_BEGUN} else 0

    def rows(self) -> list[str]:
        """A line for each benchmark of full size, and for each other that failed."""
        found = []
        runs = (self._folder / "runs").glob("*")
        for run in sorted(runs, key=lambda run: (run.name not in FULL, run.name)):
            command = [sys.executable, "-m", "milabench_ddp", "report", str(run)]
            asked = [*command, "--format", "json", "--fail-on", "none"]
            told = subprocess.run(asked, env=self._environ, capture_output=True, text=True)
            if not told.stdout:  # the exit status is also that of the run
                found.append(f"{run.name}: no report: {_said(told.stderr)}")
                continue
            for one in json.loads(told.stdout)["benchmarks"]:
                if one["state"] == "cancelled":
                    continue  # the line of its step tells how many there are
                if one["state"] != "ok":
                    found.append(f"{run.name} {one['name']:24} {one['state']}: {one['reason']}")
                elif run.name in FULL:
                    found.append(f"{run.name} {one['name']:24} {_figures(one)}")
        return found


def _figures(benchmark: Mapping[str, Any]) -> str:
    """Its rate, the time of a step, MFU, and what the monitor has read of its first device."""
    if benchmark["perf"] is None:
        return f"no rate: {benchmark['why_no_rate']}"
    words = [f"{benchmark['perf']:10,.1f} {benchmark['unit']:8}"]
    for key, form in (("step_ms", "{:8.2f} ms"), ("mfu", "{:6.1%} MFU")):
        words.append(form.format(benchmark[key]) if benchmark[key] else "")
    device = benchmark["devices"][0] if benchmark["devices"] else {}
    for key, form in (("samples", "{} samples"), ("sm_clock", "{:.0f} MHz"), ("power", "{:.0f} W")):
        words.append(form.format(device[key]) if device.get(key) else "")
    return " ".join(word for word in words if word)


def _line(ended: str, seconds: float, title: str, said: str = "") -> str:
    return f"{ended:9} {seconds:4.0f} s  {title}{said and ': '}{said}"


def _said(text: str) -> str:
    """What a step printed, in a line: the verdict of the last run, else the last line."""
    lines = [line for line in text.splitlines() if line.strip()] or ["it printed nothing"]
    verdicts = [line for line in lines if re.match(r"[A-Z]+: \d+ of \d+ ", line)]
    return (verdicts or lines)[-1]
