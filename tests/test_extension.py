"""The price of a new one: a test adds one of each kind to a copy of the package, and runs it."""

import pytest

from tests.support import result_files
from tests.support.package_copy import PackageCopy


def test_the_copy_is_what_runs(package_copy: PackageCopy) -> None:
    package_copy.add_file("milabench_ddp/added.py", 'VERSION = "a copy"\n')
    line = "from .added import VERSION as __version__"
    package_copy.add_line("milabench_ddp/__init__.py", after="__version__", line=line)
    assert "a copy" in package_copy.milabench("--version").out
    assert package_copy.touched == {"milabench_ddp/added.py", "milabench_ddp/__init__.py"}


def test_a_change_is_made_only_where_it_is_clear_where(package_copy: PackageCopy) -> None:
    with pytest.raises(AssertionError, match="is there already"):
        package_copy.add_file("milabench_ddp/cli.py", "")
    with pytest.raises(AssertionError, match="has 0 lines"):
        package_copy.add_line("milabench_ddp/cli.py", after="no such text", line="x = 1")
    assert package_copy.touched == set()


def add_to_report(copy: PackageCopy, text: str, *lines: tuple[str, str, str]) -> str:
    """Add a file and lines (file, marker, line) to the report; what it says of one process."""
    copy.add_file("milabench_ddp/report/added.py", text)
    for name, after, line in lines:
        copy.add_line(f"milabench_ddp/report/{name}", after, line)
    result_files.write(
        copy.folder / "run",
        "b.D0",
        result_files.config("b"),
        result_files.start(),
        result_files.rates([2.0] * 3),
        result_files.end(),
    )
    return copy.milabench(
        "report", "run", "--table" if "TABLES" in text else "--format", "added"
    ).out


def test_a_format_of_the_report(package_copy: PackageCopy) -> None:
    said = add_to_report(
        package_copy,
        """
        from .model import Report

        def names(report: Report) -> str:
            return ", ".join(row.name for row in report.rows)
        """,
        ("formats.py", "from .text import", "from .added import names"),
        ("formats.py", '"json": Format(', '    "added": Format(names),'),
    )
    assert said == "b"
    assert len(package_copy.touched) == 2


def test_a_table_of_the_report(package_copy: PackageCopy) -> None:
    said = add_to_report(
        package_copy,
        '''
        """For TABLES."""
        from collections.abc import Sequence

        from ..table import Column, Table
        from .model import Row

        def units(rows: Sequence[Row]) -> Table:
            return Table((Column("unit"),), tuple((row.unit,) for row in rows), "Units")
        ''',
        ("tables.py", "from .stragglers import", "from .added import units"),
        ("tables.py", '"steps": steps', '    "added": units,'),
    )
    assert said == "Units\n-----\nunit\nitems/s\n"
    assert len(package_copy.touched) == 2


def test_a_finding_of_the_report(package_copy: PackageCopy) -> None:
    add_to_report(
        package_copy,
        """
        from collections.abc import Iterator

        from .model import Finding, Severity

        def few_processes(measured) -> Iterator[Finding]:
            for row in measured.rows:
                yield Finding(Severity.WARNING, f"{row.name}: only {row.n} process", row.name)
        """,
        ("findings.py", "from .stragglers import", "from .added import few_processes"),
        ("findings.py", '"damaged_file": damaged_files', '    "few_processes": few_processes,'),
    )
    assert "Warnings\n--------\nb: only 1 process\n" in package_copy.milabench("report", "run").out
    assert len(package_copy.touched) == 2
