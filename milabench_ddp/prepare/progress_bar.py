"""The progress of a long task: a bar on a terminal, elsewhere a line for each tenth."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

Advance = Callable[[int], None]


@contextmanager
def progress_bar(title: str, total: int, unit: str, out: TextIO) -> Iterator[Advance]:
    """Show the progress of a block, which calls the function with the number of new units done."""
    if out.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

        columns = (BarColumn(), MofNCompleteColumn(), unit, TimeRemainingColumn())
        with Progress(title, *columns, console=Console(file=out)) as bar:
            task = bar.add_task(title, total=total)
            yield lambda count: bar.advance(task, count)
    else:
        yield _plain(title, total, unit, out)


def _plain(title: str, total: int, unit: str, out: TextIO) -> Advance:
    done = tenths = 0

    def advance(count: int) -> None:
        nonlocal done, tenths
        done += count
        if done * 10 // total > tenths:
            tenths = done * 10 // total
            print(f"{title}: {done} of {total} {unit}", file=out, flush=True)

    return advance
