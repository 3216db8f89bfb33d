"""``milabench prepare`` and ``install``: make what benchmarks need, once: data, environments."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TextIO

from ..config.schema import FakeImageNet, Suite
from ..errors import ConfigError, PrepareError
from ..options.suite import InstallOptions, SuiteOptions
from ..prepare.environment import find_uv, install_groups, make_environment
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


def install(options: InstallOptions) -> int:
    """Make the missing environments under ``<base>/venv``; returns 1 if one fails, else 0."""
    base = setup.base_folder(options)
    suite = setup.load_local_suite(options)
    groups = install_groups(suite.benchmarks)
    if not groups:
        print("nothing to install: all benchmarks that would run here use the current environment")
    failed = False
    for group in groups:
        folder, begin = base / "venv" / group.name, time.monotonic()
        on_command = partial(print, file=sys.stderr, flush=True)
        try:
            made = make_environment(group, base, on_command, uv=find_uv(), force=options.force)
        except PrepareError as error:
            print(f"milabench: {error}", file=sys.stderr)
            failed = True
            continue
        how = f"made in {time.monotonic() - begin:.0f} s" if made else "exists already"
        print(f"{folder}: {how}, for {', '.join(group.benchmarks)}")
    return int(failed)


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
    """In a terminal, show the progress of a block, which calls the function for each new unit."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    console = Console(file=behind(out))
    with Progress(
        title, BarColumn(), MofNCompleteColumn(), unit, TimeRemainingColumn(),
        console=console, disable=not out.isatty(),
    ) as bar:  # fmt: skip
        task = bar.add_task(title, total=total)
        yield lambda count: bar.advance(task, count)
