"""``milabench install``: make the virtual environments of benchmarks that need their own."""

import sys
import time
from functools import partial

from ..errors import PrepareError
from ..options.suite import InstallOptions
from ..prepare.environment import find_uv, install_groups, make_environment
from . import setup


def main(options: InstallOptions) -> int:
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
