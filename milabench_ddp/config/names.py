"""The names of benchmarks, which also name files and folders of a run, and begin tags there."""

import re
from collections.abc import Sequence

from ..errors import ConfigError, shortened
from .schema import NAME, Benchmark
from .tree import Entries

LONGEST_NAME = 150  # bytes; a file is named by it, a node, a process, and may have 255
# What else is in a run folder, beside the folder of each benchmark.
_TAKEN = {"jobs", "nodes", "submitit", "traces"}
_SUFFIXES = (".data", ".html", ".json", ".stacks", ".stderr", ".stdout")


# What follows the name of a benchmark in the tags of its processes: a repeat, a device or a job.
_IN_TAG = re.compile(r"[RD]\d+|(?P<job>0|[1-9]\d{0,8})", re.IGNORECASE)


def check_names(entries: Entries) -> None:
    """Raise ConfigError for names that cannot be those of files side by side."""
    known: dict[str, str] = {}
    for name, entry in entries.items():
        if why := _why_no_name(name):
            raise ConfigError(
                f"`{shortened(name, 80)}` in {entry.origin} cannot name a benchmark: {why}"
            )
        other = known.setdefault(name.casefold(), name)
        if other != name:
            raise ConfigError(
                f"`{name}` in {entry.origin} and `{other}` in {entries[other].origin} differ in "
                "upper and lower case alone, which some disks do not tell apart: rename one"
            )


def _why_no_name(name: str) -> str:
    """Why it cannot be part of a file name, or cannot be selected; empty if it can."""
    if not NAME.fullmatch(name):
        return "a name is letters, digits and any of `_ . + = @ -`, a letter, digit or `_` first"
    if name.casefold() in _TAKEN or name.casefold().endswith(_SUFFIXES):
        return "a file of a run may have this name: choose another"
    size = len(name.encode())
    if size > LONGEST_NAME:
        return f"a name has at most {LONGEST_NAME} bytes, this one has {size}"
    return ""


def check_tags(benchmarks: Sequence[Benchmark]) -> None:
    """Raise ConfigError for a name that is a tag of another benchmark's process, or begins so.

    A file ``b.0.D0.data`` could belong to ``b`` or to ``b.0``.
    """
    known = {benchmark.name.casefold(): benchmark for benchmark in benchmarks}
    for benchmark in benchmarks:
        words = benchmark.name.casefold().split(".")
        for count in range(1, len(words)):
            other = known.get(".".join(words[:count]))
            found = _IN_TAG.fullmatch(words[count])
            if other is None or found is None:
                continue
            if found["job"] is None or int(words[count]) < other.plan.jobs:
                raise ConfigError(
                    f"`{benchmark.name}` cannot name a benchmark beside `{other.name}`, of which a "
                    "process may have this name: rename one"
                )
