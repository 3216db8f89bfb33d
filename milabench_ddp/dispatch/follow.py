"""Follows a run from its folder, as it goes on elsewhere; may stop and come back at any time."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..events import Outcome
from ..results.points import is_final, read_point, save_point
from ..results.run_dir import RunDir
from ..results.runfile import BenchmarkState
from .onlooker import Onlooker
from .scheduler import CANCELLED, LIMIT, JobState

ASK = 5.0  # seconds between questions to the scheduler
LOOK = 0.5  # between looks into the folder
_ANSWERS = {True: "answers again", False: "does not answer"}
_AFTER = {"TIMEOUT": LIMIT, "CANCELLED": CANCELLED}


class Follower:
    """Tells an onlooker what the files of a run, and the scheduler, say.

    Args:
        rundir: the run.
        points: those that are not known to have ended.
        jobs: as ``run.json`` has them; their ``state`` is kept up to date.
        ask: the scheduler: ids -> states; None where it does not answer.
        limits: how long each point may take, in seconds.
    """

    def __init__(
        self,
        rundir: RunDir,
        points: Sequence[str],
        jobs: Sequence[dict[str, Any]],
        onlooker: Onlooker,
        ask: Callable[[Sequence[str]], dict[str, JobState] | None],
        limits: Mapping[str, float],
    ) -> None:
        self._rundir, self._jobs, self._onlooker, self._ask = rundir, jobs, onlooker, ask
        # waiting; running; left by its leader; ended, but to run again if its job starts again
        self._open, self._limits = dict.fromkeys(points, "waiting"), limits
        self._ends: dict[str, float] = {}  # it may run again between two looks
        self._answers = True
        self._said: dict[str, tuple[str, str]] = {}
        self._unknown: dict[str, int] = {}  # how often nobody knew a job
        self.outcomes: dict[str, str] = {}

    def follow(
        self,
        until: Callable[[], bool],
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> bool:
        """Look until all points have ended, or nobody is left to run them; whether it was that.

        ``until`` is asked at each look, and ends it too.
        """
        next_ask = clock()
        while True:
            self.look()
            if not self._open:
                return True
            if until():
                return False
            if clock() >= next_ask:
                if self.ask():
                    self._settle()
                    return True
                next_ask = clock() + (1.0 if set(self._open.values()) == {"ended"} else ASK)
            sleep(LOOK)

    def look(self) -> None:
        """See what has begun, and what has ended."""
        for name, before in list(self._open.items()):
            state = read_point(self._rundir.path / name)
            if state is None:
                continue
            now = str(state["outcome"])
            if now == "running":
                if before != "running":
                    self._onlooker.begin(name, state.get("nodes") or [], self._limits[name])
                self._open[name] = now
            elif state.get("ended") is None and before == "running":
                self._open[name] = "left"
                self._onlooker.say(f"{name}: {state.get('reason') or 'it waits again'}")
            elif state.get("ended") not in (None, self._ends.get(name)):
                self._open[name], self._ends[name] = "ended", state["ended"]
                self._end(name, now, str(state.get("reason") or ""))
                if is_final(state):
                    del self._open[name]

    def ask(self) -> bool:
        """Ask where the jobs stand; whether all have ended."""
        ids = [job["id"] for job in self._jobs if not job["state"]]
        found = self._ask(ids) if ids else {}
        if self._answers != (found is not None):
            self._answers = found is not None
            self._onlooker.say(f"the scheduler {_ANSWERS[self._answers]}")
        if found is None:
            return False
        for job in self._jobs:
            if job["id"] not in ids:
                continue
            state = found.get(job["id"])
            if state is None:  # accounts are written late; a job nobody knows for long is gone
                self._unknown[job["id"]] = self._unknown.get(job["id"], 0) + 1
                if self._unknown[job["id"]] > 60 / ASK:
                    state = JobState("UNKNOWN", True)
                else:
                    continue
            said = (state.word, state.why)
            if self._said.get(job["id"]) != said:
                self._said[job["id"]] = said
                why = f" ({state.why})" if state.why else ""
                self._onlooker.say(f"job {job['id']}: {state.word}{why}")
            if state.has_ended:
                job["state"] = state.word
        return all(job["state"] for job in self._jobs)

    def _settle(self) -> None:
        """After the end of all jobs: write down what became of what they did not finish."""
        self.look()
        for name, before in self._open.items():
            if before == "ended":
                continue  # whoever led it has said why
            job = next((job for job in reversed(self._jobs) if name in job["points"]), None)
            word = job["state"] if job else "UNKNOWN"
            outcome, reason = _AFTER.get(word, (Outcome.LOST, f"its job ended: {word}"))
            if before == "waiting" and outcome is not Outcome.CANCELLED:
                outcome, reason = Outcome.LOST, f"its job ended before it began: {word}"
            state = BenchmarkState(name, outcome, reason, ended=time.time(), cut_short=True)
            save_point(self._rundir.path / name, state)
            self._end(name, outcome, reason)
        self._open.clear()

    def _end(self, name: str, outcome: str, reason: str) -> None:
        self.outcomes[name] = outcome
        self._onlooker.end(name, outcome, reason)
