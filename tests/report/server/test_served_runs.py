import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from milabench_ddp.errors import RunDirError
from milabench_ddp.report.server.served_runs import MOST_REPORTS, Running, Runs, progress_of
from tests.support.result_files import RECORDED, write_state
from tests.support.wait import PATIENCE


def test_names_in_addresses_are_safe_and_each_once(tmp_path: Path) -> None:
    for name in ("a/mine", "b/mine", "c/what?<b>#&", "d/..."):
        write_state(tmp_path / name, "ok", {})
    found = Runs([str(tmp_path / name) for name in "abcd"], str).folders()
    assert list(found) == ["mine", "mine~2", "what-b-", "run"]
    assert found["mine~2"] == tmp_path / "b" / "mine"


def test_a_folder_may_hold_no_run_yet(tmp_path: Path) -> None:
    runs = Runs([str(tmp_path)], str)
    assert runs.folders() == {}
    write_state(tmp_path / "runs" / "first", None, {})
    assert runs.folders() == {"first": tmp_path / "runs" / "first"}


def test_how_a_benchmark_runs() -> None:
    assert Running("a", None, None, ()).sentence == "a runs"
    assert Running("a", 41.0, 600.0, ("n1", "n2")).sentence == (
        "a runs on n[1-2] for 41 s of at most 10 min a launch"
    )


def test_a_run_of_milabench_has_no_state() -> None:
    found = progress_of(RECORDED / "milabench" / "sedumoje", 0.0)
    assert (found.name, found.outcome, found.sentence) == (
        "sedumoje", "", "how it ended is not recorded",
    )  # fmt: skip


def test_a_run_that_has_ended(tmp_path: Path) -> None:
    states = {"a": "ok", "b": "timeout", "c": "skipped"}
    write_state(tmp_path, "failed", states, {"b": "it took longer than 60 s"})
    found = progress_of(tmp_path, 1e9)
    assert found.seconds == 200
    assert found.sentence == "failed; 3 of 3 benchmarks (1 ok, 1 timeout, 1 skipped)"
    assert found.failed == (("b", "timeout: it took longer than 60 s"),)


def test_only_the_last_reports_are_kept(tmp_path: Path) -> None:
    made: list[str] = []
    names = [str(number) for number in range(MOST_REPORTS + 1)]
    for name in names:
        write_state(tmp_path / name, "ok", {})
    runs = Runs([str(tmp_path)], lambda path: made.append(path.name) or path.name)
    for name in [*names, names[-1], names[0]]:
        assert runs.report(tmp_path / name) == name
    assert made == [*names, names[0]]


def test_what_a_report_keeps_is_no_change_of_its_run(tmp_path: Path) -> None:
    made: list[str] = []

    def make(path: Path) -> str:
        (path / ".report").mkdir(exist_ok=True)
        (path / ".report" / str(len(made))).touch()
        made.append(path.name)
        return "page"

    write_state(tmp_path / "first", "ok", {})
    runs = Runs([str(tmp_path)], make)
    for _ in range(3):
        runs.report(tmp_path / "first")
    assert made == ["first"]


def test_a_folder_that_has_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RunDirError, match=r"cannot read .*gone: No such file"):
        Runs([], str).report(tmp_path / "gone")


def test_a_run_of_a_newer_milabench_is_listed(tmp_path: Path) -> None:
    write_state(tmp_path / "mine", "ok", {})
    path = tmp_path / "mine" / "run.json"
    path.write_text(re.sub(r'"schema": *\d', '"schema": 99', path.read_text(), count=1))
    assert progress_of(tmp_path / "mine", 0.0).sentence == "how it ended is not recorded"


def test_a_slow_report_holds_up_no_other_run(tmp_path: Path) -> None:
    begun, goes_on = threading.Event(), threading.Event()

    def make(path: Path) -> str:
        if path.name == "slow":
            begun.set()
            assert goes_on.wait(PATIENCE)
        return path.name

    for name in ("slow", "quick"):
        write_state(tmp_path / name, "ok", {})
    runs = Runs([str(tmp_path)], make)
    with ThreadPoolExecutor() as pool:
        slow = pool.submit(runs.report, tmp_path / "slow")
        assert begun.wait(PATIENCE)
        assert runs.report(tmp_path / "quick") == "quick"
        assert not slow.done()
        goes_on.set()
        assert slow.result() == "slow"
