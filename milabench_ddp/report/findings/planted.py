"""Finding about faults that were planted on purpose."""

from ...errors import shown_names
from ...hazards import PLANT
from ...results.records import mapping_or_empty
from ..model import Row
from .finder import Finds, Found, finding


@finding(
    "error",
    "faults are planted in it on purpose: {place}: it tells nothing of a machine",
    f"unset {PLANT}",
    many="faults are planted in {count} benchmarks on purpose: they tell nothing of a machine",
)
def planted(row: Row) -> Finds:
    """Faults that a program told of, or that its variables name."""
    faults = [fault for process in row.processes for fault in process.record.faults]
    faults.append(mapping_or_empty(row.config.get("env")).get(PLANT, ""))  # none left a file
    if names := list(dict.fromkeys(filter(None, faults))):
        yield Found(shown_names(names), {"faults": names})


PLANTED = planted.name
