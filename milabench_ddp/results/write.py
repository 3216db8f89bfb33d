"""Events -> result files, in milabench's format, each line on disk as soon as it is known.

History of what we add to milabench's format (added fields only: its tools read our files):
    1  ``config`` has schema, preset, repeat; ``start`` has pid, env; ``end`` has outcome, reason;
       the events ready and begin of the start barrier
"""

import json
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Any, BinaryIO, Self

from ..errors import RunDirError
from ..events import Data, Ended, Event, Line, Note, Started
from ..plan.command import Launch, Process
from .run_dir import RunDir

SCHEMA = 1


@dataclass(frozen=True)
class Heading:
    """What each data file says of its run."""

    run_name: str
    arch: str
    meta: Mapping[str, Any]  # the machine, as milabench's event of that name


class LaunchWriter:
    """The result files of one launch."""

    def __init__(self, rundir: RunDir, launch: Launch, heading: Heading) -> None:
        self._rundir, self._launch, self._heading = rundir, launch, heading
        self._processes = {process.name: process for process in launch.processes}
        self._files: dict[tuple[str, str], BinaryIO] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def head(self) -> None:
        """Begin the files of each process: what it is, and on what machine."""
        for tag, process in self._processes.items():
            self._put(tag, "config", self._config(process), None)
            self._put(tag, "meta", self._heading.meta, None)
            for stream in ("stdout", "stderr"):
                self._write(tag, stream, b"")  # an empty file says that nothing was printed

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def write(self, event: Event) -> None:
        """Append an event to the files of its process.

        Raises:
            RunDirError: it cannot be written, for example because the disk is full.
        """
        tag = event.tag
        match event:
            case Started(time=time, pid=pid, command=command):
                env = dict(self._processes[tag].env)
                start = {"command": command, "time": time, "pid": pid, "env": env}
                self._put(tag, "start", start, None)
            case Line(stream=stream, text=text):
                self._write(tag, stream, text.encode("utf-8", "backslashreplace"))
                self._put(tag, "line", text, stream)
            case Data(payload=payload):
                self._put(tag, "data", payload, "data")
            case Note(kind=kind, data=data):
                self._put(tag, kind, data, "data")
            case Ended():
                end = {
                    "command": self._processes[tag].argv,
                    "time": event.time,
                    "return_code": event.returncode,
                    "outcome": event.outcome,
                    "reason": event.reason,
                }
                self._put(tag, "end", end, None)

    def _config(self, process: Process) -> dict[str, Any]:
        benchmark = self._launch.benchmark
        config = {
            **benchmark.record,
            "name": benchmark.name,
            "group": benchmark.group,
            "tag": list(process.tag),
            "plan": {"method": benchmark.plan.method, **benchmark.plan.options},
            "weight": benchmark.weight,
            "enabled": True,
            "num_machines": self._launch.nodes,
            "devices": list(process.devices),
            "arch": self._heading.arch,
            "run_name": self._heading.run_name,
            "preset": benchmark.preset,
            "schema": SCHEMA,
            "repeat": self._launch.repeat,
        }
        if benchmark.plan.method == "per_gpu":
            config["device"] = process.devices[0]
        return config

    def _put(self, tag: str, event: str, data: Any, pipe: str | None) -> None:
        line = json.dumps({"event": event, "data": data, "pipe": pipe}, default=str)
        self._write(tag, "data", line.encode() + b"\n")

    def _write(self, tag: str, suffix: str, text: bytes) -> None:
        try:
            file = self._files.get((tag, suffix)) or self._open(tag, suffix)
            while text:
                text = text[file.write(text) :]
        except OSError as error:
            path = self._rundir.stream(tag, suffix)
            raise RunDirError(f"cannot write {path}: {error.strerror}") from error

    def _open(self, tag: str, suffix: str) -> BinaryIO:
        # Unbuffered: what is written is in the file, whatever becomes of this process.
        raw = self._rundir.stream(tag, suffix).open("ab", buffering=0)
        self._files[tag, suffix] = self._stack.enter_context(raw)
        return self._files[tag, suffix]


def save_script(rundir: RunDir, benchmark: str, script: str) -> None:
    """Keep the bash that repeats a benchmark beside its results."""
    path = rundir.script(benchmark)
    try:
        path.parent.mkdir(exist_ok=True)
        path.write_text(script)
    except OSError as error:
        raise RunDirError(f"cannot write {path}: {error.strerror}") from error
