"""The page of a report in a real browser: from a file, with the network off."""

import re
from pathlib import Path

import pytest
from page_scale import make

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.comparison.compare import comparison_of
from milabench_ddp.report.comparison.comparison_faces import FACES
from milabench_ddp.report.comparison.sides import Side
from milabench_ddp.report.page import page
from milabench_ddp.report.page.page import report_html
from tests.report.page.test_page import hostile_run
from tests.support.compared_runs import launched
from tests.support.result_files import RECORDED
from tests.support.sweep_of_models import make as make_sweep

from .open_page import OpenPage, ascending

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def first(folder: Path) -> Path:
    path = folder / "first.html"
    path.write_text(report_html(report_of([RECORDED / "first"])))
    return path


@pytest.fixture(scope="module")
def ranks(folder: Path) -> Path:
    """Jobs of eight ranks on GPUs; in the first, rank 4 is slow."""
    path = folder / "ranks.html"
    path.write_text(report_html(report_of([make(folder / "run", 4, 8, 400)])))
    return path


@pytest.fixture(params=["plain", "packed"])
def either(request: pytest.FixtureRequest, ranks: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same page with its sections as they are, and compressed."""
    if request.param == "plain":
        return ranks
    monkeypatch.setattr(page, "PLAIN", 0)
    path = ranks.with_name("packed.html")
    path.write_text(report_html(report_of([ranks.with_name("run")])))
    return path


def is_quiet(browser: OpenPage, path: Path) -> None:
    """Nothing in the console, no request but the page itself."""
    assert browser.problems() == []
    assert {url.partition("#")[0] for url in browser.requests()} <= {
        path.resolve().as_uri(),
        "data:,",
    }


def test_it_opens_from_a_file_and_asks_for_nothing(browser: OpenPage, first: Path) -> None:
    browser.go(first)
    browser.click("#open-all")
    browser.wait("document.querySelectorAll('figure .plot').length > 10")
    figures = browser.js("document.querySelectorAll('figure[data-course]').length")
    browser.wait(f"document.querySelectorAll('figure .legend').length === {figures}")
    browser.js("document.querySelector('figure .plot').scrollIntoView()")
    browser.wait("document.querySelector('figure canvas').width > 100")
    assert browser.js("navigator.onLine") is False
    is_quiet(browser, first)


def test_the_policy_refuses_what_is_not_the_pages(browser: OpenPage, first: Path) -> None:
    """So that the console would have told it."""
    browser.go(first)
    browser.js("document.body.insertAdjacentHTML('beforeend',"
               " '<img src=\"https://example.org/x.png\"><p style=\"color:red\">')")  # fmt: skip
    browser.wait("document.querySelector('img').complete")
    assert any("Content Security Policy" in problem for problem in browser.problems())


def test_hostile_text_is_shown_as_text(browser: OpenPage, folder: Path) -> None:
    path = folder / "hostile.html"
    path.write_text(report_html(report_of([hostile_run(folder / "hostile")])))
    browser.go(path)
    browser.wait("document.querySelectorAll('figure .legend').length > 0")
    assert browser.js("document.querySelectorAll('script:not([type])').length") == 1
    assert any(text.startswith("</script><script>alert(1)") for text in browser.texts("summary h3"))
    is_quiet(browser, path)


def test_the_table_is_sorted_and_filtered(browser: OpenPage, first: Path) -> None:
    browser.go(first)
    names = browser.texts("#main tbody th")
    assert names == [row.name for row in report_of([RECORDED / "first"]).rows]
    columns = browser.texts("#main thead th")
    perf = columns.index("perf")

    def shown() -> list[float]:
        cells = browser.texts(f"#main tbody tr td:nth-child({perf + 1})")
        return [float(re.sub(r" [±+].*|,", "", cell)) for cell in cells]

    browser.click(f"#main thead th:nth-child({perf + 1}) button")
    assert ascending(shown())
    assert browser.texts("#main tbody th") != names
    browser.click(f"#main thead th:nth-child({perf + 1}) button")
    assert ascending(shown()[::-1])
    order = browser.js("document.querySelector('#main [aria-sort]').getAttribute('aria-sort')")
    assert order == "descending"
    browser.click("#filter")
    browser.press(*"gpt tokens")
    assert sorted(browser.texts("#main tbody th")) == ["gpt-ddp", "gpt-fsdp"]
    assert browser.texts("#count") == [f"2 of {len(names)} benchmarks"]
    assert sorted(browser.texts("details.bench h3")) == ["gpt-ddp", "gpt-fsdp"]
    is_quiet(browser, first)


def test_a_value_of_a_chart_by_keyboard(browser: OpenPage, either: Path) -> None:
    """The same as in the table behind it; the slowest rank is the one that was planted."""
    browser.go(either, "bench-gpt-000--steps")
    figure = "#bench-gpt-000 figure[data-course=steps]"
    browser.wait(f"document.querySelector('{figure} .plot') !== null")
    browser.click(f"{figure} .numbers summary")
    browser.wait(f"document.querySelector('{figure} table') !== null")
    heads = browser.texts(f"{figure} thead th")
    assert heads[1] == "rank 4 (slowest), ms"
    cells = browser.texts(f"{figure} tbody tr:nth-child(3) > *")
    browser.js(f"document.querySelector('{figure} .plot').focus()")
    browser.press("ARROW_RIGHT", "ARROW_RIGHT", "ARROW_RIGHT")
    (said,) = browser.texts(f"{figure} output")
    name = heads[1].removesuffix(", ms")
    assert said == f"step {cells[0]}: {name} {cells[1]} ({cells[2]} to {cells[3]})"
    assert browser.js(f"document.querySelector('{figure} output').ariaLive") == "polite"
    browser.press("ARROW_DOWN", "END", "ARROW_LEFT", "HOME")
    assert browser.texts(f"{figure} output")[0].startswith("step 1 to 2: ")
    assert heads[4].removesuffix(", ms") in browser.texts(f"{figure} output")[0]
    is_quiet(browser, either)


def test_a_point_of_a_sweep_by_keyboard(browser: OpenPage, folder: Path) -> None:
    path = folder / "sweep.html"
    path.write_text(report_html(report_of([make_sweep(folder / "sweep")])))
    browser.go(path, "sweeps")
    browser.js("document.querySelector('#sweeps svg[tabindex]').focus()")
    browser.press("ARROW_RIGHT")
    (said,) = filter(None, browser.texts("#sweeps output"))
    assert said.startswith("hf_T5-eager-with-1, 1 nodes: ")
    browser.press("END", "ARROW_LEFT")
    assert filter(None, browser.texts("#sweeps output")) != [said]
    browser.click("#sweeps .numbers summary")
    value = said.rpartition(": ")[2]
    assert value in browser.texts("#sweeps .numbers tbody td")
    is_quiet(browser, path)


def test_a_comparison(browser: OpenPage, folder: Path) -> None:
    path = folder / "comparison.html"
    for name, level in (("before", 100.0), ("after", 80.0)):
        launched(folder / name, {"gpt": [level, 1.001 * level, 0.999 * level]})
    sides = [Side.read(str(folder / name)) for name in ("before", "after")]
    path.write_text(FACES["html"](comparison_of(*sides), sides))
    browser.go(path)
    assert browser.texts(".strip .badge") == ["▼ 1 slower"]
    assert browser.texts("tbody th")[0] == "gpt"
    is_quiet(browser, path)


def test_a_findings_link(browser: OpenPage, either: Path) -> None:
    browser.go(either)
    found = browser.js(
        "[...document.querySelectorAll('#findings .finding')]"
        ".findIndex(x => x.textContent.includes('gpt-000: rank 4'))"
    )
    assert found >= 0
    assert browser.js("document.querySelector('#bench-gpt-000').open") is False
    browser.click("#findings .finding a", found)
    browser.wait("document.activeElement.id === 'bench-gpt-000--own'")
    assert browser.js("document.activeElement.getBoundingClientRect().top < innerHeight")
    marked = browser.texts("#bench-gpt-000--ranks tr.marked > th")
    assert marked == ["rank 4"]
    # the finding stands there, too
    assert any("rank 4" in text for text in browser.texts("#bench-gpt-000--own .finding"))
    is_quiet(browser, either)


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_the_window(
    browser: OpenPage, ranks: Path, folder: Path, width: int, scheme: str
) -> None:
    browser.go(ranks, "bench-gpt-000", width=width, scheme=scheme)
    browser.wait("document.querySelectorAll('#bench-gpt-000 canvas').length > 0")
    assert browser.js("document.documentElement.scrollWidth <= innerWidth")
    colors = "getComputedStyle(document.body)"
    back, ink = (browser.js(f"{colors}.{name}") for name in ("backgroundColor", "color"))
    assert contrast(back, ink) > 7
    browser.screenshot(folder / f"{scheme}-{width}.png")
    assert (folder / f"{scheme}-{width}.png").stat().st_size > 10_000
    is_quiet(browser, ranks)


def contrast(*colors: str) -> float:
    """The contrast ratio of two colours, as WCAG 2.2 defines it."""
    lights = []
    for color in colors:
        parts = [int(part) / 255 for part in re.findall(r"\d+", color)[:3]]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        lights.append(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2])
    return (max(lights) + 0.05) / (min(lights) + 0.05)


def test_it_is_printed_with_its_charts(browser: OpenPage, ranks: Path, folder: Path) -> None:
    browser.go(ranks, "bench-gpt-001", scheme="dark")
    browser.wait("document.querySelectorAll('#bench-gpt-001 figure .legend').length > 3")
    path = folder / "printed.pdf"
    browser.pdf(path)
    assert path.read_bytes().startswith(b"%PDF")
    figures = "document.querySelectorAll('#bench-gpt-001 figure[data-course]').length"
    assert browser.js("document.querySelectorAll('#bench-gpt-001 canvas').length") == browser.js(
        figures
    )
    is_quiet(browser, ranks)


def test_a_screen_reader_finds_names(browser: OpenPage, ranks: Path) -> None:
    """By the tree that Chromium gives to it."""
    browser.go(ranks, "bench-gpt-000")
    browser.wait("document.querySelectorAll('#bench-gpt-000 figure .legend').length > 3")
    nodes = browser.command("Accessibility.getFullAXTree")["nodes"]
    named: dict[str, list[str]] = {}
    for node in nodes:
        if not node["ignored"]:
            role, name = (node.get(key, {}).get("value", "") for key in ("role", "name"))
            named.setdefault(role, []).append(name)
    for role in ("figure", "application", "region", "navigation", "columnheader", "button", "link"):
        assert named.get(role), role
        assert all(named[role]), role
    assert "Step times" in " ".join(named["figure"])
    assert any("rank 4" in name and "from" in name for name in named["application"])
