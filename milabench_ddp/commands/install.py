"""``milabench install``: make the environments of the benchmarks that need one of their own."""

import sys
import time
from functools import partial

from ..config.load import load
from ..options import InstallOptions
from ..provide.failure import ProvideFailure
from ..provide.requirements import groups
from ..provide.venv import provide, uv
from . import setup


def main(options: InstallOptions) -> int:
    """Make what is not there yet under ``<base>/venv``; 0 where all of it is there, else 1."""
    base = setup.base_folder(options)
    system = setup.read_system_of(options)
    host = setup.detect_host(options, system)
    suite = load(setup.request(options, system), setup.machine_facts(host.cluster, system, base))
    wanted = groups(suite.benchmarks)
    if not wanted:
        print("nothing to install: what would run here runs in the current environment")
    failed = False
    for group in wanted:
        folder, begin = base / "venv" / group.name, time.monotonic()
        tell = partial(print, file=sys.stderr, flush=True)
        try:
            made = provide(group, base, tell, uv=uv(), force=options.force)
        except ProvideFailure as failure:
            print(f"milabench: {failure}", file=sys.stderr)
            failed = True
            continue
        how = f"made in {time.monotonic() - begin:.0f} s" if made else "there already"
        print(f"{folder}: {how}, for {', '.join(group.benchmarks)}")
    return int(failed)
