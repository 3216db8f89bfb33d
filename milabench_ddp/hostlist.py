"""Nodes in their natural order, and many of them in the words of Slurm: ``node[1-3,7]``."""

import re
from collections.abc import Iterable
from string import digits

MOST = 100  # characters of a hostlist in a sentence
LONGEST = 18  # digits of a number that Slurm folds: it has 64 bits
_NUMBER = re.compile(rf"([0-9]{{1,{LONGEST}}})")


def natural(name: str) -> tuple[tuple[str | int, ...], str]:
    """The key of the order in which ``node2`` is before ``node10``."""
    parts = enumerate(_NUMBER.split(name))
    return tuple(int(part) if place % 2 else part for place, part in parts), name


def hostlist(names: Iterable[str]) -> str:
    """The names as one word that `sbatch --exclude` and `scontrol show hostnames` take.

    Only a number at the end of a name is folded, since Slurm takes no other.
    """
    groups: dict[tuple[str, bool], list[str]] = {}
    for name in sorted(set(names), key=natural):
        number = name[len(name.rstrip(digits)) :][-LONGEST:]
        groups.setdefault((name.removesuffix(number), bool(number)), []).append(number)
    words = []
    for (head, _), numbers in groups.items():
        is_one = len(numbers) == 1
        words.append(head + (numbers[0] if is_one else f"[{','.join(spans(numbers))}]"))
    return ",".join(words)


def shown_nodes(names: Iterable[str]) -> str:
    """The nodes in a sentence, the first ones if their hostlist is long: ``n[1,3] and 4 more``."""
    ordered = sorted(set(names), key=natural)
    count = len(ordered)
    while len(shown := hostlist(ordered[:count])) > MOST and count > 1:
        count //= 2
    return shown + (f" and {len(ordered) - count} more" if count < len(ordered) else "")


def spans(numbers: Iterable[int | str]) -> list[str]:
    """Ascending numbers, those in a row as their first and last: ``0``, ``3-7``, ``09-11``."""
    found: list[list[str]] = []
    for number in map(str, numbers):
        if found and number == str(int(found[-1][1]) + 1).zfill(len(found[-1][1])):
            found[-1][1] = number
        else:
            found.append([number, number])
    return [f"{first}-{last}" if last != first else first for first, last in found]
