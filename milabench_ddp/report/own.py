"""Which parts of a step are a rank's own: those that no other rank can make longer.

Ranks that train together wait for each other, so their step times are equal, whoever is slow. The
wait lies where they communicate: under DDP the gradients are averaged during the backward pass, so
its end is that of the slowest rank, on every rank. What comes before it is each rank's own: the
wait for data, the forward pass, and the optimizer. There the slow rank takes longer, and shows.
(DDP sends buffers from rank 0 before a forward pass, where the model has any, which is a wait too,
but only for what rank 0 was late with since the end of the backward pass.)

Sharded and tensor parallel models also communicate in the forward pass: of them only the wait for
data and the optimizer are their own. The ranks of a pipeline do different work, and are not
compared. A process alone on its device waits for nobody: all of its step is its own.
"""

from collections.abc import Mapping

LOCAL = frozenset({"data", "optimizer"})
BY_MODE: Mapping[str, frozenset[str]] = {
    "ddp": LOCAL | {"forward"},
    "fsdp": LOCAL,
    "hsdp": LOCAL,
    "tp": LOCAL,
    "tp-fsdp": LOCAL,
    "pipeline": frozenset(),
    "pdp": frozenset(),
}


def own_parts(mode: object, part_ms: Mapping[str, object]) -> tuple[str, ...]:
    """The parts, among those that were measured, that are a rank's own in a mode of training."""
    own = BY_MODE.get(str(mode), frozenset())
    return tuple(name for name in part_ms if name in own)
