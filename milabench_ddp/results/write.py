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
from collections.abc import Mapping
from json.encoder import encode_basestring_ascii as encode_text
from typing import Any

import msgspec
from msgspec import Struct

from ..errors import disk_errors
from ..events import Data, Ended, Event, Metrics, Note, Outcome, Output, Started
from ..files import replace_file
from ..hidden import SECRETS
from ..plan.launch import Launch, Process
from .file_writer import FileWriter
from .run_dir import RunDir

SCHEMA = 4


class DataHeader(Struct, frozen=True):
    """The facts about a run that each of its data files holds."""

    run_name: str
    arch: str
    meta: Mapping[str, Any]  # provenance of the machine, as milabench's event of that name


_STREAMS = ("stdout", "stderr")


class LaunchWriter:
    """The result files of one launch.

    What a process prints is in its ``.data``, and as text in files of its own; these are kept of
    the first node and of what failed: of a thousand nodes there would be hundreds of thousands.
    """

    def __init__(
        self, run_dir: RunDir, launch: Launch, header: DataHeader, files: FileWriter
    ) -> None:
        self._run_dir, self._launch, self._header = run_dir, launch, header
        self._processes = {process.name: process for process in launch.processes}
        self._files = files

    def write_header(self) -> None:
        for tag, process in self._processes.items():
            self._put(tag, "config", SECRETS.hide_all(self._config(process)))
            self._put(tag, "meta", self._header.meta)
            if process.node == 0:
                for suffix in _STREAMS:
                    self._append(tag, suffix, b"")  # an empty file says that nothing was printed
        self._files.flush()

    def write(self, event: Event) -> None:
        """Append an event to the files of its process; does not wait for the disk."""
        tag = event.tag
        match event:
            case Started():
                start = {
                    "command": event.command,
                    "time": event.time,
                    "pid": event.pid,
                    "env": dict(self._processes[tag].env),
                }
                self._put(tag, "start", SECRETS.hide_all(start))
            case Output(stream=stream, text=text):
                text = SECRETS.hide(text)
                self._append(tag, stream, text.encode("utf-8", "backslashreplace"))
                self._append(tag, "data", _output_events(stream, text))
            case Metrics():
                self._append(tag, "data", SECRETS.hide_in_json(_metric_events(event)))
            case Data(payload=payload):
                if "rate" in payload:  # how long the rate was measured may follow from its time
                    payload = {**payload, "arrived": round(event.time, 6)}
                self._put(tag, "data", SECRETS.hide_told(payload), "data")
            case Note(kind=kind, data=data):
                self._put(tag, kind, SECRETS.hide_all(data), "data")
            case Ended():
                end = {
                    "command": self._processes[tag].argv,
                    "time": event.time,
                    "return_code": event.returncode,
                    "outcome": event.outcome,
                    "reason": event.reason,
                }
                self._put(tag, "end", SECRETS.hide_all(end))
                if self._processes[tag].node > 0 and event.outcome is Outcome.OK:
                    texts = (self._run_dir.stream(tag, suffix) for suffix in _STREAMS)
                    self._files.unneeded.update(texts)

    def _config(self, process: Process) -> Mapping[str, object]:
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
        if not benchmark.plan.jobs:
            config["device"] = process.devices[0]
        return config

    def _put(self, tag: str, event: str, data: object, pipe: str | None = None) -> None:
        line = json.dumps({"event": event, "data": data, "pipe": pipe}, default=str)
        self._append(tag, "data", line.encode() + b"\n")

    def _append(self, tag: str, suffix: str, text: bytes) -> None:
        self._files.append(self._run_dir.stream(tag, suffix), text)


def _output_events(stream: str, text: str) -> bytes:
    begin, end = '{"event": "line", "data": "', f'", "pipe": "{stream}"}}\n'
    if "\\" not in text and text.endswith("\n"):
        # Without a backslash in it, the escaped text has `\n` for newlines alone.
        escaped = encode_text(text)[1:-1]
        events = begin + escaped.replace("\\n", f"\\n{end}{begin}")
        return events.removesuffix(begin).encode()
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]  # what came after the last newline, which may be nothing
    return "".join(f"{begin}{encode_text(line)[1:-1]}{end}" for line in lines if line).encode()


def _metric_events(event: Metrics) -> bytes:
    begin, end = b'{"event": "data", "data": ', b', "pipe": "data"}\n'
    # How long a rate was measured may follow from its time.
    arrived = b', "arrived": %.6f}' % event.time
    has_rate = [line.rate is not msgspec.UNSET for line in event.lines]
    with_rate, without = arrived + end + begin, b"}" + end + begin
    parts = [begin] * (2 * len(has_rate) + 1)
    parts[1::2] = event.text.split(b"}\n")[:-1]
    parts[2::2] = [with_rate if is_rate else without for is_rate in has_rate]
    return b"".join(parts).removesuffix(begin)


def save_script(run_dir: RunDir, benchmark: str, script: str) -> None:
    path = run_dir.script(benchmark)
    with disk_errors("write", path):
        path.parent.mkdir(exist_ok=True)
        # the plan and the results make it again
        replace_file(path, script.encode(), is_durable=False)
