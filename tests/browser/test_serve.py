"""A run that goes on, in a real browser: what it shows follows the files."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from milabench_ddp.commands.serve import page_of
from milabench_ddp.report.server.served_runs import Runs
from milabench_ddp.report.server.server import Server
from tests.support.result_files import config, end, going_on, rates, start, write, write_state

from .open_page import OpenPage

pytestmark = pytest.mark.browser
LINE = "document.getElementById('progress').textContent"
# Empty while the page is loaded anew
BODY = "(document.querySelector('iframe').contentDocument?.body?.textContent ?? '')"


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    with Server(Runs([str(tmp_path)], page_of), 0) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server.url
        server.shutdown()
        thread.join()


def measured(folder: Path, name: str) -> None:
    write(folder, f"{name}.D0", config(name, device=0), start(), rates([5.0] * 9), end(0))


def test_the_report_is_shown_anew_when_a_benchmark_has_ended(
    browser: OpenPage, url: str, tmp_path: Path
) -> None:
    folder = tmp_path / "live"
    write_state(folder, None, {"early": "ok", "late": "running"})
    measured(folder, "early")
    with going_on(folder, "late"), browser.visit(f"{url}runs/live/"):
        browser.wait(f"{LINE}.includes('1 of 2 benchmarks (1 ok); late runs')")
        browser.wait(f"{BODY}.includes('early')")
        measured(folder, "late")
        write_state(folder, "ok", {"early": "ok", "late": "ok"})
        browser.wait(f"{LINE} === 'ok; 2 of 2 benchmarks (2 ok)'")
        browser.wait(f"{BODY}.includes('late')")
        assert browser.problems() == []
        assert all(each.startswith((url, "data:")) for each in browser.requests())
