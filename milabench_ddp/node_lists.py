"""Lists of nodes as people and Slurm write them, ``node[1-4,7],gpu3``, and files of such."""

import re
from pathlib import Path

from .files import read_bytes
from .hostlist import natural

MOST_NODES = 100_000
_LARGEST = 1 << 24  # bytes of a file
_RANGE = re.compile(r"(?<=[\[,])(\d+)-(\d+)(?=[],/])")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def listed_nodes(words: str) -> tuple[str, ...]:
    """The names in a list, in their natural order, each once.

    Args:
        words: as ClusterShell reads it, so that ``node[1-9]!node3`` leaves one out; or ``@FILE``: a
            list in each line, in which ``#`` begins a comment.

    Raises:
        ValueError: the list is malformed or too long, or the file cannot be read.
    """
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException  # 60 ms

    lines = [words]
    if words.startswith("@"):
        try:
            lines = read_bytes(Path(words[1:]), _LARGEST).decode("utf-8-sig").splitlines()
        except OSError as error:
            raise ValueError(f"cannot be read: {error.strerror}") from None
    lines = [text for line in lines if (text := line.partition("#")[0].strip())]
    try:
        ranges = _RANGE.findall(",".join(lines))  # ClusterShell has each of their numbers in memory
        is_long = sum(int(last) - int(first) for first, last in ranges) > MOST_NODES
        if is_long or len(found := NodeSet.fromlist(lines, resolver=RESOLVER_NOGROUP)) > MOST_NODES:
            raise ValueError(f"has more than {MOST_NODES:,} nodes")
        names = sorted(found, key=natural)
    except (NodeSetException, AssertionError) as error:
        raise ValueError(f"is not a list of nodes such as node[1-4,7]: {error}") from None
    if wrong := next((name for name in names if not _NAME.fullmatch(name)), ""):
        raise ValueError(f"is not a list of nodes such as node[1-4,7]: {wrong!r} names none")
    return tuple(names)
