"""One process under supervision: its pipes, its metrics channel, and how it ended."""

import fcntl
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from ..events import Emit, Ended, Note, Outcome, Output, Started, Verdict
from ..in_time import in_time
from ..results.state import ProcessState, RankCall, Survivor
from .causes import with_kernel
from .channel import ChannelRanks, Fifo, LineBuffer, parse_lines
from .flight_recorder import DUMPS, collectives_begun
from .hangs import is_hang, told, who_hangs, with_hang
from .keeper import Keeper, KeptProcess
from .output_limit import OutputLimit
from .reap import read_stat
from .stacks import ENDED, PATIENCE, STACKS, Look, Looked, ended_ranks
from .verdict import Observations, judge

Stream = Literal["stdout", "stderr"]

_CHUNK = 1 << 18  # bytes of one read


class Child:
    """A process of a launch, from its start until it and all its descendants are gone.

    Args:
        own_rank: the rank that the process is itself; None for a torchrun.
        max_output: MiB of each stream that are kept.
    """

    def __init__(
        self,
        kept: KeptProcess,
        keeper: Keeper,
        metrics: Fifo,
        emit: Emit,
        own_rank: int | None = None,
        max_output: float = 64.0,
    ) -> None:
        process = kept.process
        self.tag, self.pid = process.name, kept.pid
        self.observed = Observations(own_rank)
        self.exit_fd = kept.control  # readable once the process and all that it left have ended
        self.pidfd, self.wake_keeper = kept.pidfd, kept.wake_keeper
        self.terminate, self.kill = kept.terminate, kept.kill
        self._process, self._kept, self._keeper, self._emit = process, kept, keeper, emit
        self.looked: Sequence[Looked] = ()  # its processes, before they were ended
        self._progress = ""  # how far it was then, if it did not hang
        self.channel_ranks: ChannelRanks | None = None  # if several ranks may share the channel
        if own_rank is None and len(process.devices) > 1:
            self.channel_ranks = ChannelRanks(metrics.path, kept.family)
        self._started = time.time() - (time.monotonic() - kept.started)
        self._streams: dict[int, Stream | None] = {  # by descriptor; None is the metrics channel
            kept.stdout: "stdout",
            kept.stderr: "stderr",
            metrics.fd: None,
        }
        self._limits: dict[Stream, OutputLimit] = {
            "stdout": OutputLimit(max_output),
            "stderr": OutputLimit(max_output),
        }
        self._buffers = {fd: LineBuffer() for fd in self._streams}
        for fd in self._streams:
            os.set_blocking(fd, False)

    @property
    def pipes(self) -> tuple[int, ...]:
        return tuple(self._buffers)

    def emit_start(self) -> None:
        self._emit(Started(self.tag, self._started, self.pid, self._process.argv))

    def read(self, fd: int) -> bool:
        """Emit the lines that a pipe holds now; return False at its end."""
        chunk = _read_now(fd)
        if chunk is not None:
            self._emit_lines(fd, chunk)
        return chunk != b""

    def _emit_lines(self, fd: int, chunk: bytes) -> None:
        """Emit the lines that these bytes complete; ``b""`` completes the last line."""
        buffer, stream = self._buffers[fd], self._streams[fd]
        text = buffer.take(chunk) if chunk else buffer.rest()
        if not text:
            return
        now = time.time()
        if stream is None:
            for event in parse_lines(self.tag, now, text):
                self.observed.add(event)
                self._emit(event)
            return
        output = Output(self.tag, now, stream, text.decode("utf-8", "backslashreplace"))
        self.observed.add(output)
        if kept := self._limits[stream].keep(output.text):
            self._emit(replace(output, text=kept))

    def begin_look(self) -> Look:
        now = time.time()
        if self.observed.goes_on(now) and not self.observed.misses_peer:
            self._progress = self.observed.progress(now)
        folder = Path(self._process.env[STACKS])
        return Look(self._kept.family, self.pid, self.observed.own_rank, folder)

    def finish(self, stopped: Verdict | None, oom_kills: int = 0) -> ProcessState:
        """After its exit: read the rest of its pipes, and judge it.

        Args:
            stopped: why the supervisor stopped it; None if it ended by itself.
            oom_kills: processes that the kernel has killed meanwhile, for want of memory.
        """
        end = self._keeper.end(self._kept)
        for fd in self.pipes:
            self._read_rest(fd)
        for stream, limit in self._limits.items():
            if text := limit.rest():
                self._emit(Output(self.tag, time.time(), stream, text))
            if limit.left_out:
                self._tell(f"{stream}: {limit.left_out}")
        error = self._kept.error
        if end.error and stopped is None:
            error = end.error
        if error:
            verdict = Verdict(Outcome.FAILED, error)
        else:
            # Over several nodes rank 0 reports for all, and only the coordinator sees all of them.
            self._tell_writers()
            must_report = self._process.job is None
            verdict = judge(self.observed, end.returncode, stopped, must_report)
        if verdict.outcome is Outcome.TIMEOUT and self._progress:
            verdict = Verdict(verdict.outcome, f"{verdict.reason}: {self._progress}")
        verdict = replace(verdict, reason=with_kernel(verdict.reason, oom_kills))
        calls = self._calls(verdict)
        now = time.time()
        if end.stuck:
            self._tell(f"still alive after SIGKILL: {sorted(end.stuck)}")
        survivors = []
        for pid in sorted(end.stuck):
            if stat := read_stat(pid):
                survivors.append(Survivor(pid, stat.born, self._process.tag[0]))
        seen = [call for call in calls if call.state != ENDED]
        reason = with_hang(
            verdict, who_hangs(seen, timed_out=verdict.outcome is Outcome.TIMEOUT)
        ).reason
        self._emit(Ended(self.tag, now, end.returncode, verdict.outcome, reason))
        return ProcessState(
            tag=self.tag,
            pid=self.pid,
            returncode=end.returncode,
            outcome=verdict.outcome,
            reason=verdict.reason,
            started=self._started,
            ended=now,
            told=self.observed.told,
            calls=calls,
            goes_on=bool(self._progress),
            survivors=tuple(survivors),
        )

    def _read_rest(self, fd: int) -> None:
        left = fcntl.fcntl(fd, fcntl.F_GETPIPE_SZ)
        while left > 0 and (chunk := _read_now(fd)):
            self._emit_lines(fd, chunk)
            left -= len(chunk)
        self._emit_lines(fd, b"")
        if left <= 0 and _read_now(fd):
            name = self._streams[fd] or "metrics"
            self._tell(f"a process keeps writing to its {name}: the rest is not kept")

    def _tell(self, message: str) -> None:
        self._emit(Note(self.tag, time.time(), "message", message))

    def _calls(self, verdict: Verdict) -> tuple[RankCall, ...]:
        is_failed_part = verdict.outcome is Outcome.FAILED and self._process.job is not None
        if not self.looked and is_failed_part:  # a rank on another node may have failed first
            self.looked = ended_ranks(Path(self._process.env[STACKS]))
        elif not is_hang(verdict):
            return ()
        if not self.looked:
            return ()
        if self._progress:  # a loop of one line is never anywhere else
            self.looked = [
                replace(seen, call=replace(seen.call, moves=True)) for seen in self.looked
            ]
        self._emit(Output(self.tag, time.time(), "stacks", told(self.looked)))
        if self._progress:
            return ()
        calls, dumps = [], self._process.env.get(DUMPS, "")
        for call in (seen.call for seen in self.looked if seen.is_rank):
            begun = None
            if dumps and call.rank is not None:
                look = partial(collectives_begun, dumps, call.rank, self._started)
                with suppress(TimeoutError):
                    begun = in_time(look, PATIENCE)
            calls.append(replace(call, begun=begun))
        return tuple(calls)

    def _tell_writers(self) -> None:
        told, channel = self.observed.told, self.channel_ranks
        if channel is None or not told.unranked:
            return
        told.see_writers(channel.ranks, channel.opened)
        if told.writers or told.reopened:
            writers = {"ranks": sorted(channel.ranks), "opened": channel.opened}
            self._emit(Note(self.tag, time.time(), "writers", writers))

    def close(self) -> None:
        """Close what it watches; the keeper closes the rest."""
        if self.channel_ranks is not None:
            self.channel_ranks.close()


def _read_now(fd: int) -> bytes | None:
    """The bytes that a pipe holds now; ``b""`` at its end, None while it is empty but open."""
    try:
        return os.read(fd, _CHUNK)
    except BlockingIOError:
        return None
