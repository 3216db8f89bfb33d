"""What was not run, by the reason: what many share is said once."""

from collections.abc import Iterable, Iterator, Sequence


def by_reason(pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, list[str]]]:
    """Each reason with the names that have it, in the order of the first."""
    found: dict[str, list[str]] = {}
    for name, why in pairs:
        found.setdefault(why, []).append(name)
    yield from found.items()


def some(names: Sequence[str]) -> str:
    """One name, or how many there are and the first of them."""
    if len(names) == 1:
        return names[0]
    return f"{len(names)} ({', '.join(names[:3])}{', ...' if len(names) > 3 else ''})"
