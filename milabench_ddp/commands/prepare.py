"""``milabench prepare``: make the data that the benchmarks read, once."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from ..config.schema import FakeImageNet, Suite
from ..errors import ConfigError, PrepareError
from ..options.suite import SuiteOptions
from ..prepare.fake_imagenet import is_complete, make
from ..shown_streams import behind
from . import setup


def main(options: SuiteOptions) -> int:
    """Make the data that is missing under ``<base>/data``; returns 0 if all is there then, or 1."""
    base = setup.base_folder(options)
    suite = setup.load_local_suite(options)
    data_sets = _data_sets(suite)
    if not data_sets:
        print("nothing to prepare: no benchmark that would run here reads prepared data")
    for data in data_sets:
        folder = base / "data" / data.folder
        if is_complete(folder, data):
            print(f"{folder}: exists already")
            continue
        total = data.images + data.val_images
        try:
            with progress_bar(data.folder, total, "images", sys.stderr) as advance:
                make(folder, data, advance)
        except PrepareError as error:
            print(f"milabench: {error}", file=sys.stderr)
            return 1
        print(f"{folder}: {total} images of {data.size} pixels in {data.classes} classes")
    return 0


def _data_sets(suite: Suite) -> list[FakeImageNet]:
    owners: dict[str, tuple[str, FakeImageNet]] = {}
    for benchmark in suite.benchmarks:
        if benchmark.data is None:
            continue
        folder = benchmark.data.folder
        first, data = owners.setdefault(folder, (benchmark.name, benchmark.data))
        if data != benchmark.data:
            raise ConfigError(
                f"`{first}` and `{benchmark.name}` need different images in the same folder, "
                f"{folder}: give one of them another `prepare.fake_imagenet.folder`"
            )
    return [data for _, data in owners.values()]


Advance = Callable[[int], None]


@contextmanager
def progress_bar(title: str, total: int, unit: str, out: TextIO) -> Iterator[Advance]:
    """Show the progress of a block, which calls the function with the number of new units done."""
    if out.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

        columns = (BarColumn(), MofNCompleteColumn(), unit, TimeRemainingColumn())
        with Progress(title, *columns, console=Console(file=behind(out))) as bar:
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
