"""What is known of a run before it begins: what a display needs besides the run's progress."""

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from ..results.run_dir import RunDir


class Outline(Struct, frozen=True):
    """The benchmarks of a run, and how long each is expected to take."""

    benchmarks: Sequence[str] = ()  # by name, in their order
    launches: int = 1  # of each, as far as is known
    seconds: Mapping[str, float] = field(default_factory=dict)  # of a launch, by benchmark
    place: str = ""  # the devices, in a few words
    run: RunDir | None = None  # where its files are; None if they are not read
    sends_events: bool = True  # whether what happens in processes is told, and not only on disk
    side: str = ""  # its name, if another run takes turns with it: its lines begin with that
