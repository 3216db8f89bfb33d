"""The tags of processes, which name their files: each tells its benchmark."""

import re
from collections.abc import Sequence

from ..errors import ConfigError
from .schema import Benchmark

# What follows the name of a benchmark in the tags of its processes: a repeat, a device or a job.
_IN_TAG = re.compile(r"[RD]\d+|(?P<job>\d{1,9})", re.IGNORECASE)


def check_tags(benchmarks: Sequence[Benchmark]) -> None:
    """Raise ConfigError for a name that is a tag of another benchmark's process, or begins so.

    A file ``b.0.D0.data`` could belong to ``b`` or to ``b.0``.
    """
    known = {benchmark.name.casefold(): benchmark for benchmark in benchmarks}
    for benchmark in benchmarks:
        words = benchmark.name.casefold().split(".")
        for count in range(1, len(words)):
            other = known.get(".".join(words[:count]))
            if other is not None and _is_in_tag(words[count], other):
                raise ConfigError(
                    f"`{benchmark.name}` cannot name a benchmark beside `{other.name}`, of which a "
                    "process may have this name: rename one"
                )


def _is_in_tag(word: str, benchmark: Benchmark) -> bool:
    found = _IN_TAG.fullmatch(word)
    if found is None or found["job"] is None:
        return found is not None
    number = int(word)
    return str(number) == word and number < benchmark.plan.jobs
