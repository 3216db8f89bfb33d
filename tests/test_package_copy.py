"""The copy of the package to which the tests named ``test_extension.py`` add something."""

import pytest

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
    with pytest.raises(AssertionError, match="has 0 times"):
        package_copy.replace("milabench_ddp/cli.py", "no such text", "x = 1")
    assert package_copy.touched == set()
