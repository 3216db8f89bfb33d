"""The isolation of nodes by which a benchmark failed: the file ``<benchmark>/isolation.json``."""

from msgspec import Struct

from ..events import Outcome
from ..plan.isolate import Condemned
from .defects import OnDefect, ignore, read_unless_damaged
from .run_dir import RunDir


class ProbeRecord(Struct, frozen=True):
    """A launch of the benchmark on some of its nodes, and what it showed."""

    name: str  # of its files, below the folder of the run
    round: int  # the probes of a round ran at the same time
    nodes: tuple[str, ...]  # that were asked for
    lost: tuple[str, ...]  # those of them that could not take part
    outcome: Outcome
    reason: str
    rate: float | None  # units per second of a node; None if it measured none
    is_bad: bool | None  # None: it did not show whether its nodes are

    @property
    def size(self) -> int:
        """How many nodes took part."""
        return len(self.nodes) - len(self.lost)


class IsolationRecord(Struct):
    """What was probed so far, and what it showed."""

    nodes: tuple[str, ...]
    whole_fails: bool  # the benchmark failed or hung; if not, slow nodes are looked for
    probes: list[ProbeRecord] = []
    bad: list[Condemned] = []
    scale: int | None = None  # the benchmark fails on so many nodes, whichever they are
    is_unexplained: bool = False  # the rest fails together, for no node, pair or number
    why_stopped: str = ""  # before all was said
    is_open: bool = True  # it goes on, or `--resume` goes on with it


def read_isolation(
    run: RunDir, benchmark: str, on_defect: OnDefect = ignore
) -> IsolationRecord | None:
    """The isolation of a benchmark; None if there is none, or it is damaged."""
    return read_unless_damaged(run.isolation_json(benchmark), IsolationRecord, on_defect)
