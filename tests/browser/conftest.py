"""Chromium, driven by Selenium, on pages from files and without a network."""

import importlib.util
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .open_page import OpenPage, chromium

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "perf"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests of pages run where they are asked for, and where Chromium is installed.

    Not every developer has Chromium. ``.ci/run`` installs it and asks for these tests.
    """
    marked = [item for item in items if item.get_closest_marker("browser")]
    asked = "browser" in config.option.markexpr
    if reason := missing() if asked else "needs Chromium: pytest -n 0 -m browser":
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=reason))


def missing() -> str:
    """What is not installed; empty if all is."""
    if importlib.util.find_spec("selenium") is None:
        return "selenium is not installed: pip install -e .[browser]"
    for program, package in (("chromium", "chromium"), ("chromedriver", "chromium-driver")):
        if shutil.which(program) is None:
            return f"{program} is not installed: apt-get install {package}"
    return ""


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenPage]:
    """The browser of the session."""
    with chromium(tmp_path_factory.mktemp("chromium")) as driver:
        yield OpenPage(driver)
