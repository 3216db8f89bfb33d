import re

from milabench_ddp.report.server.served_runs import Progress
from milabench_ddp.report.server.server import SCRIPT, list_page, run_page

RUN = Progress('"><b>', "ok", 1.0, 1, {"ok": 1}, 0, (), (), "0123")


def test_what_files_say_is_text() -> None:
    for page in (list_page({"key": RUN}), run_page("key", RUN)):
        assert "<b>" not in page
        assert "&lt;b&gt;" in page


def test_the_script_makes_no_markup() -> None:
    assert not re.search(r"innerHTML|insertAdjacent|document\.write|eval|outerHTML", SCRIPT)
    assert "</script" not in SCRIPT


def test_a_page_asks_for_what_is_beside_it() -> None:
    page = run_page("key", RUN)
    assert re.findall(r'(?:src|href)="([^"]*)"', page) == ["data:,", "/", "/runs/key/report"]
    assert re.findall(r'new URL\("([^"]*)", frame.src\)', page) == ["progress.json"]
    assert 'data-stamp="0123"' in page


def test_a_list_without_runs_says_so() -> None:
    assert "There is no run yet." in list_page({})
