"""Keeps what this node tells of a failure, before anything of it is stopped."""

import threading
from collections.abc import Mapping
from pathlib import Path

from ..errors import contained, reason_of
from ..results.run_dir import RunDir

_MOST = 3  # failures of which a run keeps it: the first ones
_PATIENCE = 13.0  # seconds: 10 for this host, and the rest for the disk


class EvidenceKeeper:
    """Takes evidence in a thread of its own: a driver or a disk that hangs holds up nothing long.

    Args:
        node: the name of this node, and of its archive.
        root: the folder that has ``sys`` and ``dev``.
    """

    def __init__(self, run: RunDir, node: str, root: Path = Path("/")) -> None:
        self._run, self._node, self._root = run, node, root
        self._thread: threading.Thread | None = None
        self._taken: list[str] = []  # the folders in the archive
        self._problems: list[str] = []

    def take(self, folder: str, occasion: str, files: Mapping[str, str]) -> None:
        """Begin to take evidence into a folder of the archive, with files; once for each."""
        if folder in self._taken or len(self._taken) == _MOST:
            return
        self._taken.append(folder)
        self._start(folder, occasion, {f"{folder}/{name}": text for name, text in files.items()})

    def keep(self, files: Mapping[str, str]) -> str:
        """Add files to the archive; returns as ``problem``."""
        self._start("" if self._taken else "end", "at the end of the run", files)
        return self.problem()

    def problem(self) -> str:
        """What went wrong since it was asked last; empty if nothing did."""
        self.wait()
        problems, self._problems = self._problems, []
        if self._thread is not None:
            problems.append("it has not been written in time")
        return "; ".join(problems)

    def wait(self) -> None:
        """Wait for what is being taken, but not for ever."""
        if self._thread is not None:
            self._thread.join(_PATIENCE)
            if not self._thread.is_alive():
                self._thread = None

    def _note(self, error: Exception) -> None:
        self._problems.append(reason_of(error))

    def _start(self, folder: str, occasion: str, files: Mapping[str, str]) -> None:
        def run() -> None:
            # few launches fail, and these take long to import
            from ..machine.host_evidence import gather
            from ..results.evidence_archive import add_evidence

            found = dict(files)
            if folder:
                with contained(self._note):
                    gathered = gather(f"{self._node}, {occasion}", self._root)
                    found |= {f"{folder}/{name}": text for name, text in gathered.items()}
            with contained(self._note):
                add_evidence(self._run, self._node, found)

        self.wait()
        if self._thread is None:  # else an earlier one hangs: the disk, as it is
            self._thread = threading.Thread(target=run, name="evidence", daemon=True)
            self._thread.start()
