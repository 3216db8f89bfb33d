"""How often Python calls its own functions: a measure of work that no other process changes."""

import cProfile
from collections.abc import Callable
from pathlib import Path

PACKAGE = str(Path(__file__).parents[2] / "milabench_ddp")


def calls_of(work: Callable[[], object]) -> dict[str, int]:
    """The calls of each function of the package, and each step of a generator, by its place."""
    profile = cProfile.Profile()
    profile.runcall(work)
    found = {}
    for entry in profile.getstats():
        code = entry.code
        if not isinstance(code, str) and code.co_filename.startswith(PACKAGE):
            place = code.co_filename.removeprefix(PACKAGE)
            found[f"{place}:{code.co_firstlineno} {code.co_name}"] = entry.callcount
    return found


def grown_faster(of: Callable[[int], Callable[[], object]], least: int) -> dict[str, list[int]]:
    """The functions whose calls grow faster than n, with their calls at n, 2n and 4n.

    Args:
        of: gives the work on n things.
        least: n. The calls of what is quadratic then grow by 4 from one step to the next, those of
            what is linear, with a constant part, by 2.
    """
    of(least)()  # fills the caches
    counts = [calls_of(of(n)) for n in (least, 2 * least, 4 * least)]
    found = {}
    for place in counts[-1]:
        few, twice, most = (each.get(place, 0) for each in counts)
        if most > 8 * least and most - twice > 2.5 * max(twice - few, least):
            found[place] = [few, twice, most]
    return found
