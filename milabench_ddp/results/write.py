"""Writes events to result files, in milabench's format, each line as soon as it is known.

The format is milabench's, and its tools read these files. So ``json.dumps`` writes each line, and
our codec is not used.

History of what we add to milabench's format (added fields only):
    1  ``config`` has schema, preset, repeat; ``start`` has pid, env; ``end`` has outcome, reason;
       the events ready and begin of the start barrier
    2  a payload with a rate has ``arrived``, seconds since the epoch; the event ``writers``: the
       ranks that had the metrics channel open, where rates do not tell theirs
    3  the event ``device_problem``: a ``DeviceProblem``
    4  the samples in ``gpudata`` have the further fields of a ``DeviceSample``, with their time;
       payloads with ``hostdata``: a ``HostSample``
"""

import json
import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, BinaryIO

from ..errors import RunDirError
from ..events import Data, Ended, Event, Line, Note, Started
from ..plan.launch import Launch, Process
from .run_dir import RunDir

SCHEMA = 4


@dataclass(frozen=True)
class DataHeader:
    """The facts about a run that each of its data files holds."""

    run_name: str
    arch: str
    meta: Mapping[str, Any]  # provenance of the machine, as milabench's event of that name


class LaunchWriter:
    """The result files of one launch; ``close`` closes them."""

    def __init__(self, run_dir: RunDir, launch: Launch, header: DataHeader) -> None:
        self._run_dir, self._launch, self._header = run_dir, launch, header
        self._processes = {process.name: process for process in launch.processes}
        self._files: dict[tuple[str, str], BinaryIO] = {}
        self._stack = ExitStack()

    def close(self) -> None:
        """Close all files."""
        self._stack.close()

    def write_header(self) -> None:
        """Start the files of each process: its configuration, and the machine it runs on.

        Raises:
            RunDirError: a file cannot be written.
        """
        for tag, process in self._processes.items():
            self._put(tag, "config", self._config(process))
            self._put(tag, "meta", self._header.meta)
            for stream in ("stdout", "stderr"):
                self._append(tag, stream, b"")  # an empty file says that nothing was printed

    def write(self, event: Event) -> None:
        """Append an event to the files of its process.

        Raises:
            RunDirError: it cannot be written, for example because the disk is full.
        """
        tag = event.tag
        match event:
            case Started():
                start = {
                    "command": event.command,
                    "time": event.time,
                    "pid": event.pid,
                    "env": dict(self._processes[tag].env),
                }
                self._put(tag, "start", start)
            case Line(stream=stream, text=text):
                self._append(tag, stream, text.encode("utf-8", "backslashreplace"))
                self._put(tag, "line", text, stream)
            case Data(payload=payload):
                if "rate" in payload:  # how long the rate was measured may follow from its time
                    payload = {**payload, "arrived": round(event.time, 6)}
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
                self._put(tag, "end", end)

    def _config(self, process: Process) -> Mapping[str, object]:
        """The benchmark's configuration, with the fields that milabench's tools look for."""
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
            "arch": self._header.arch,
            "run_name": self._header.run_name,
            "preset": benchmark.preset,
            "schema": SCHEMA,
            "repeat": self._launch.repeat,
        }
        if benchmark.plan.method == "per_gpu":
            config["device"] = process.devices[0]
        return config

    def _put(self, tag: str, event: str, data: object, pipe: str | None = None) -> None:
        line = json.dumps({"event": event, "data": data, "pipe": pipe}, default=str)
        self._append(tag, "data", line.encode() + b"\n")

    def _append(self, tag: str, suffix: str, text: bytes) -> None:
        try:
            file = self._files.get((tag, suffix)) or self._open(tag, suffix)
            while text:
                text = text[file.write(text) :]
        except OSError as error:
            path = self._run_dir.stream(tag, suffix)
            raise RunDirError(f"cannot write {path}: {error.strerror}") from error

    def _open(self, tag: str, suffix: str) -> BinaryIO:
        # Unbuffered: a line is in the file once it is written, even if this process is killed.
        raw = self._run_dir.stream(tag, suffix).open("ab", buffering=0)
        self._files[tag, suffix] = self._stack.enter_context(raw)
        return self._files[tag, suffix]


def save_script(run_dir: RunDir, benchmark: str, script: str) -> None:
    """Keep the bash script that repeats a benchmark beside its results.

    Raises:
        RunDirError: it cannot be written.
    """
    path = run_dir.script(benchmark)
    try:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(os.fsencode(script))  # paths need not be UTF-8
    except OSError as error:
        raise RunDirError(f"cannot write {path}: {error.strerror}") from error
