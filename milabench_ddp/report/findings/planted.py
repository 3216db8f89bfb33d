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
    faults = [each.get("fault") for each in row.tables.get("planted", ())]
    faults.append(mapping_or_empty(row.config.get("env")).get(PLANT))
    if texts := list(dict.fromkeys(str(each) for each in faults if each)):
        yield Found(shown_names(texts), {"faults": texts})


PLANTED = planted.name
