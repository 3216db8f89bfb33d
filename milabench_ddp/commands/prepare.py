"""``milabench prepare``: make the data that the benchmarks read, once."""

import sys

from ..config.load import load
from ..config.schema import FakeImageNet, Suite
from ..errors import ConfigError
from ..options import SuiteOptions
from ..provide import manifest
from ..provide.failure import ProvideFailure
from ..provide.fake_imagenet import make
from ..provide.progress import progress
from . import setup


def main(options: SuiteOptions) -> int:
    """Make what is not there yet under ``<base>/data``; 0 where all of it is there, else 1."""
    base = setup.base_folder(options)
    system = setup.read_system_of(options)
    host = setup.detect_host(options, system)
    suite = load(setup.request(options, system), setup.machine_facts(host.cluster, system, base))
    wanted = _wanted(suite)
    if not wanted:
        print("nothing to prepare: no benchmark that would run here reads prepared data")
    for data in wanted:
        folder = base / "data" / data.folder
        if manifest.complete(folder, data):
            print(f"{folder}: there already")
            continue
        total = data.images + data.val_images
        try:
            with progress(data.folder, total, "images", sys.stderr) as advance:
                make(folder, data, advance)
        except ProvideFailure as failure:
            print(f"milabench: {failure}", file=sys.stderr)
            return 1
        print(f"{folder}: {total} images of {data.size} pixels in {data.classes} classes")
    return 0


def _wanted(suite: Suite) -> list[FakeImageNet]:
    """The data sets of the benchmarks that would run, each once."""
    asked: dict[str, tuple[str, FakeImageNet]] = {}
    for benchmark in suite.benchmarks:
        if benchmark.data is None:
            continue
        folder = benchmark.data.folder
        first, data = asked.setdefault(folder, (benchmark.name, benchmark.data))
        if data != benchmark.data:
            raise ConfigError(
                f"`{first}` and `{benchmark.name}` ask for different images in one folder, "
                f"{folder}: give one of them another `prepare.fake_imagenet.folder`"
            )
    return [data for _, data in asked.values()]
