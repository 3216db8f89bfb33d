"""The memory of each rank of a benchmark, as its program told it."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from .model import Row
from .ranks.rank_summary import RankId, rank_id
from .statistics.values import NAN, ratio

KINDS = ("memory_allocated", "memory_resident")  # peaks by phase; the second on a CPU
STATE = "memory_state"


class RankMemory(Struct, frozen=True):
    """What a rank told of its memory in a launch, in MiB; NaN where it did not."""

    id: RankId
    numbers: Mapping[str, float]
    allocated: float
    reserved: float

    def told(self, name: str) -> float:
        return self.numbers.get(name, NAN)

    def state(self, name: str) -> float:
        return self.told(f"{STATE}.{name}")

    def phase(self, name: str) -> float:
        """The peak of a phase: of what is allocated, on a CPU of what is resident."""
        known = [self.told(f"{kind}.{name}") for kind in KINDS]
        return known[0] if known[0] >= 0 else known[1]

    @property
    def fragmented(self) -> float:
        return 1 - self.allocated / self.reserved if self.reserved > 0 else NAN

    @property
    def used(self) -> float:
        return ratio(self.in_use, self.state("total"))

    @property
    def in_use(self) -> float:
        return self.reserved + self.state("other")


def memories(row: Row) -> Iterator[RankMemory]:
    for process in row.counted:
        record = process.record
        told = {name: of for name, of in record.numbers.items() if name.startswith((*KINDS, STATE))}
        for number, rank in record.ranks.items():
            numbers = {name: of[number].numbers[-1] for name, of in told.items() if number in of}
            yield RankMemory(rank_id(record, number), numbers, rank.allocated, rank.reserved)
