"""What benchmarks need before they can run: data, and environments of their own."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..config.tree import shown
from ..errors import PrepareError, RunDirError
from ..results.lock import held, holder


@contextmanager
def making(target: Path, lock: Path, what_is_left: str = "") -> Iterator[None]:
    """Make a target while no other process does; ``lock`` is a file in a folder that is made."""
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        with held(lock) as is_mine:
            if not is_mine:
                other = f"another process is making {shown(target)}{holder(lock)}"
                raise PrepareError(f"{other}: wait until it is done")
            yield
    except (OSError, RunDirError) as error:
        reason = getattr(error, "strerror", None) or error
        raise PrepareError(f"cannot write {shown(target)}: {reason}{what_is_left}") from error
