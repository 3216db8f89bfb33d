"""How many collectives a rank began, by the flight recorder that torch dumped for it."""

import io
import pickle
from pathlib import Path

from ..files import read_bytes

DUMPS = "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"  # of torch: a path to which each rank appends its number
_ALL_RANKS = "0"  # the group of all ranks; torch numbers groups as they are made
_MOST = 1 << 26  # bytes; a dump of the 2,000 calls that torch keeps has 2 MiB


class _PlainUnpickler(pickle.Unpickler):
    """Reads dicts, lists, texts and numbers: a dump has no others, and a file may hold anything."""

    def find_class(self, module: str, name: str) -> object:
        raise pickle.UnpicklingError(f"a dump has no {module}.{name}")


def collectives_begun(prefix: str, rank: int, since: float) -> int | None:
    """The number of collectives of all ranks that a rank began; None if no dump tells it.

    Args:
        since: when the launch began, in seconds since the epoch; an older dump is another's.
    """
    path = Path(f"{prefix}{rank}")
    try:
        if path.stat().st_mtime < since:
            return None
        dump = _PlainUnpickler(io.BytesIO(read_bytes(path, _MOST))).load()
        begun = int(dump["pg_status"][_ALL_RANKS]["last_enqueued_collective"])
    except Exception:  # noqa: BLE001 - a damaged pickle may raise anything
        return None
    return begun if 0 <= begun < 1 << 63 else None
