"""The script for a machine with GPUs, as far as it can be looked at without one."""

import re

import pytest

from perf.__main__ import MEASURES
from tests.support.package_copy import REPOSITORY

TEXT = (REPOSITORY / "perf" / "gpu_check.sh").read_text()


@pytest.mark.parametrize("path", sorted(set(re.findall(r"(?:config|perf|tests)/[\w/.]+", TEXT))))
def test_what_it_names_is_there(path: str) -> None:
    assert (REPOSITORY / path).exists()


def test_the_figures_that_it_asks_for() -> None:
    (names,) = re.findall(r"-m perf --quick --only (\S+)", TEXT)
    assert set(names.split(",")) <= MEASURES.keys()
