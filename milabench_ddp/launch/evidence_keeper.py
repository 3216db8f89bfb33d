"""Keeps what this node tells of a failure, before anything of it is stopped."""

from collections.abc import Mapping
from functools import partial

from ..errors import contained, reason_of
from ..in_time import in_time
from ..results.run_dir import RunDir

_MOST = 3  # failures of which a run keeps it: the first ones
_PATIENCE = 10.0  # seconds: 7 for this host, and the rest for the disk


class EvidenceKeeper:
    """Adds to the archive of this node, but waits for no driver and no disk that hangs."""

    def __init__(self, run: RunDir, node: str) -> None:
        self._run, self._node = run, node
        self._taken: list[str] = []
        self.problems: list[str] = []

    def take(self, benchmark: str, state: str) -> None:
        """Keep how a benchmark fails, in its folder of the archive; once for each."""
        if benchmark not in self._taken and len(self._taken) < _MOST:
            self._taken.append(benchmark)
            self.keep(benchmark, f"{benchmark} {state}", {})

    def keep(self, folder: str, occasion: str, files: Mapping[str, str]) -> None:
        """Keep what this host tells in a folder of the archive, and files beside it."""
        with contained(self._note):
            in_time(partial(self._add, folder, occasion, files), _PATIENCE)

    def _add(self, folder: str, occasion: str, files: Mapping[str, str]) -> None:
        # few launches fail, and these take long to import
        from ..machine.host_evidence import gather
        from ..results.evidence_archive import add_evidence

        found = dict(files)
        with contained(self._note):
            for name, text in gather(f"{self._node}, {occasion}").items():
                found[f"{folder}/{name}"] = text
        add_evidence(self._run, self._node, found)

    def _note(self, error: Exception) -> None:
        late = "it has not been written in time"
        self.problems.append(late if isinstance(error, TimeoutError) else reason_of(error))
