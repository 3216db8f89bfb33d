"""All pages by axe-core, and what it does not look for: the first screen, and what is cut."""

import os
import struct
import threading
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from milabench_ddp.commands.serve import page_of
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.comparison.compare import comparison_of
from milabench_ddp.report.comparison.comparison_faces import FACES
from milabench_ddp.report.comparison.sides import Side
from milabench_ddp.report.history.history import history_of
from milabench_ddp.report.history.history_faces import FACES as HISTORY_FACES
from milabench_ddp.report.page.page import report_html
from milabench_ddp.report.server.served_runs import Runs
from milabench_ddp.report.server.server import Server
from tests.corpus.runs import devices, slow_rank
from tests.support.compared_runs import launched
from tests.support.made_up_history import write_run
from tests.support.result_files import RECORDED
from tests.support.sweep_of_models import make as make_sweep
from tests.support.troubled_run import troubled

from .open_page import OpenPage

pytestmark = pytest.mark.browser
AXE = "MILABENCH_AXE"  # the file axe.min.js, as `npm pack axe-core` has it
WIDTHS = (400, 1400)
SCHEMES = ("light", "dark")
REPORTS = {
    "first": lambda folder: RECORDED / "first",
    "devices": lambda folder: devices(folder) or folder,
    "slow": lambda folder: slow_rank(folder) or folder,
    "sweep": make_sweep,
    "troubled": lambda folder: troubled(folder) or folder,
}
RIGHT = "document.documentElement.clientWidth"
# Texts of charts that are not all inside, and by how many units of the drawing
CUT = """
  [...document.querySelectorAll("svg.chart[role=img]")].flatMap((chart) => {
    const [, , width, height] = chart.getAttribute("viewBox").split(" ").map(Number);
    return [...chart.querySelectorAll("text")].filter((text) => {
      const box = text.getBBox();
      const [right, bottom] = [box.x + box.width, box.y + box.height];
      return box.width && (box.x < -1 || right > width + 1 || bottom > height + 3);
    }).map((text) => text.textContent);
  })
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A page of each kind, by its name."""
    folder = tmp_path_factory.mktemp("pages")
    with chdir(folder):
        made = {name: report_html(report_of([run(Path(name))])) for name, run in REPORTS.items()}
    for name, level in (("before", 100.0), ("after", 80.0)):
        launched(folder / name, {"gamma": [level, 1.001 * level, 0.999 * level]})
    sides = [Side.read(str(folder / name)) for name in ("before", "after")]
    made["compare"] = FACES["html"](comparison_of(*sides), sides)
    draw = np.random.default_rng(4)
    runs = []
    for number in range(1, 31):
        levels = 100 * (1 + 0.002 * draw.standard_normal(4)) * (0.95 if number > 20 else 1.0)
        speeds = {f"GPU-{k}": float(level) for k, level in enumerate(levels)}
        runs.append(write_run(folder / "history", number, {"flops": speeds}))
    made["history"] = HISTORY_FACES["html"](history_of(runs))
    found = {}
    for name, text in made.items():
        found[name] = folder / f"{name}.html"
        found[name].write_text(text)
    return found


NAMES = [*REPORTS, "compare", "history"]


@pytest.fixture(scope="module")
def axe() -> str:
    path = os.environ.get(AXE)
    if not path:
        pytest.skip(f"{AXE} does not name axe.min.js: npm pack axe-core")
    return Path(path).read_text()


@pytest.mark.parametrize("name", NAMES)
def test_axe_finds_nothing(browser: OpenPage, axe: str, pages: dict[str, Path], name: str) -> None:
    for width in WIDTHS:
        for scheme in SCHEMES:
            browser.go(pages[name], width=width, scheme=scheme)
            browser.js("document.querySelectorAll('details').forEach((one) => { one.open = true })")
            figures = browser.js("document.querySelectorAll('figure[data-course]').length")
            browser.wait(f"document.querySelectorAll('figure .legend').length === {figures}")
            assert browser.violations(axe) == [], (width, scheme)


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    troubled(tmp_path / "troubled")
    with Server(Runs([str(RECORDED / "first"), str(tmp_path / "troubled")], page_of), 0) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server.url
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("place", ["", "runs/first/"])
def test_axe_finds_nothing_on_what_is_served(
    browser: OpenPage, axe: str, url: str, place: str
) -> None:
    for width in WIDTHS:
        for scheme in SCHEMES:
            browser.resize(width)
            browser.media(scheme)
            with browser.visit(url + place):
                assert browser.violations(axe) == [], (width, scheme)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_only_tables_scroll_sideways_and_no_label_is_cut(
    browser: OpenPage, pages: dict[str, Path], name: str, width: int
) -> None:
    browser.go(pages[name], width=width)
    assert browser.js(f"document.documentElement.scrollWidth <= {RIGHT}")
    wide = browser.js(
        "[...document.querySelectorAll('body *')].filter(x => x.scrollWidth > x.clientWidth + 1 "
        "&& getComputedStyle(x).overflowX !== 'visible' && !x.querySelector('table') "
        "&& !x.matches('pre, summary') && !x.closest('svg')).map(x => x.className)"
    )
    assert wide == []
    assert browser.js(CUT) == []


def top(browser: OpenPage, selector: str) -> float:
    return float(browser.js(f"document.querySelector({selector!r}).getBoundingClientRect().top"))


@pytest.mark.parametrize("name", ["first", "devices", "slow", "troubled"])
def test_the_first_screen(browser: OpenPage, pages: dict[str, Path], name: str) -> None:
    """Verdict, findings, how devices compare, and several rows of the table; at 400 px the rate."""
    browser.go(pages[name], width=1400)
    rows = "#main tbody tr:nth-child(5)" if name in ("first", "troubled") else "#main tbody tr"
    places = [top(browser, each) for each in (".verdict", "#findings .finding", "#main", rows)]
    assert places == sorted(places)
    assert places[-1] < 900 - 40
    assert top(browser, "#peers table") == pytest.approx(places[1], abs=20)
    browser.go(pages[name], width=400)
    rate = "#main tbody td.number"
    assert top(browser, rate) < 900 - 20
    assert browser.js(f"document.querySelector({rate!r}).getBoundingClientRect().right <= {RIGHT}")
    assert browser.texts("#main thead th")[1] == "perf"


def test_its_pictures_in_the_documentation(browser: OpenPage, pages: dict[str, Path]) -> None:
    """They are as large as the screen; SCREENS=docs writes them anew."""
    folder = Path(os.environ.get("SCREENS", pages["troubled"].parent))
    for width, scheme in ((1400, "light"), (400, "dark")):
        browser.go(pages["troubled"], width=width, scheme=scheme)
        path = folder / f"page-{width}.png"
        browser.screenshot(path, whole=False)
        assert struct.unpack(">II", path.read_bytes()[16:24]) == (width, 900)


def test_the_head_and_the_first_column_stay(browser: OpenPage, pages: dict[str, Path]) -> None:
    browser.go(pages["troubled"], width=400)
    box = "document.querySelector('#main').parentNode"

    def places() -> list[Any]:
        found = [f"document.querySelector('#main {each}')" for each in ("th", "tbody th")]
        return [browser.js(f"{each}.getBoundingClientRect().toJSON()") for each in found]

    head, first = places()
    browser.js(f"{box}.scrollTo(150, 100)")
    assert browser.js(f"[{box}.scrollLeft, {box}.scrollTop]") == [150, 100]
    assert places()[0] == head
    assert places()[1]["left"] == first["left"]
    assert places()[1]["top"] == first["top"] - 100
