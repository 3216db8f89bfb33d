"""``milabench list``: print the suites, or the benchmarks of one, and which would not run."""

from collections.abc import Iterator

from ..config.load import load
from ..config.schema import Suite
from ..config.shipped import shipped_suites
from ..config.tree import shown
from ..options.suite import ListOptions
from ..table import Column, Table, text_lines
from ..visible import in_line
from . import setup

_COLUMNS = tuple(map(Column, ("name", "plan", "preset", "tags", "program")))


def main(options: ListOptions) -> int:
    if not options.config:
        rows = tuple(shipped_suites().items())
        for line in text_lines(Table((Column("suite"), Column("what it asks")), rows), "  "):
            print(line)
        print("\nmilabench list NAME lists the benchmarks of one; milabench run NAME runs it")
        return 0
    for line in lines(load(*setup.resolve_request(options))):
        print(line)
    return 0


def lines(suite: Suite) -> Iterator[str]:
    """A table of the benchmarks that would run; below it, why the others would not."""
    total = len(suite.benchmarks) + len(suite.skipped)
    count = f"{len(suite.benchmarks)} of {total} benchmarks would run"
    yield f"{shown(suite.path)}, preset {suite.preset}: {count}"
    rows = []
    for b in suite.benchmarks:
        rows.append((b.name, b.plan, b.preset, ",".join(sorted(b.tags)), shown(b.program)))
    if rows:
        yield ""
        yield from text_lines(Table(_COLUMNS, tuple(rows)), "  ")
    for said in suite.warnings:
        yield f"warning: {in_line(said)}"
    if suite.skipped:
        yield ""
        yield "not run:"
        width = max(len(skipped.name) for skipped in suite.skipped)
        for skipped in suite.skipped:
            yield f"  {skipped.name:{width}}  {in_line(skipped.reason)}"
