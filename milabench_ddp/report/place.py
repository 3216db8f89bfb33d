"""Where a rank sits: its name among its peers, and its node where there are several."""

from dataclasses import dataclass

from ..results.records import Record, is_finite


@dataclass(frozen=True, order=True)
class Place:
    """A rank of a job, or the device of a process that is alone on it."""

    node: str  # empty where all is on one node
    job: int
    rank: int  # of the job; of a process alone on a device, the device
    name: str  # what a person calls it

    @property
    def label(self) -> str:
        """The name, with the node."""
        return f"{self.name} ({self.node})" if self.node else self.name


def place(record: Record, rank: int) -> Place:
    """The place of a rank that a file tells of."""
    words, device = _words(record), record.config.get("device")
    if device is not None:
        number = int(device) if str(device).isdecimal() else 0
        return Place(words[1] if len(words) > 1 else "", 0, number, f"device {device}")
    job = int(words[0]) if words and words[0].isdecimal() else 0
    plan = record.config.get("plan")
    several = isinstance(plan, dict) and plan.get("n") not in (None, 1)
    name = f"job {job} rank {rank}" if several else f"rank {rank}"
    return Place(_node(record, rank), job, rank, name)


def _node(record: Record, rank: int) -> str:
    """As the rank itself says; else by torchrun, which numbers each node's ranks in a row."""
    if (known := record.ranks.get(rank)) and known.node:
        return known.node
    machines, devices = record.config.get("num_machines"), record.config.get("devices")
    local = len(devices) if isinstance(devices, list) else 0
    if not is_finite(machines) or machines < 2 or not local:
        return ""
    return f"node {rank // local}"


def _words(record: Record) -> list[str]:
    """The tag after the benchmark's name, without the repeat: device or job, then node."""
    tags = record.config.get("tag")
    words = [str(tag) for tag in tags[1:]] if isinstance(tags, list) else []
    return [word for word in words if word not in ("nolog", record.repeat)]
