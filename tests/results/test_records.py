from math import inf, nan
from pathlib import Path

import pytest

from milabench_ddp.results.defects import DefectKind, FileDefect
from milabench_ddp.results.records import Record, Run, is_finite
from milabench_ddp.results.state import RunHeader, RunState


@pytest.mark.parametrize(
    ("value", "finite"),
    [
        (1, True),
        (0, True),
        (0.0, True),
        (2.5, True),
        (-1.0, True),
        (1e-101, True),
        (1e99, True),
        (1e101, False),
        (10**400, False),
        (nan, False),
        (inf, False),
        (True, False),
        ("1", False),
        (None, False),
    ],
)
def test_which_numbers_can_be_used(value: object, finite: bool) -> None:
    assert is_finite(value) is finite


def record(*tag: str, **more: object) -> Record:
    return Record(Path("runs/x/b.data"), {"name": "b", "tag": ["b", *tag], **more})


def test_the_tag_of_a_record_is_the_stem_of_its_file() -> None:
    assert Record(Path("runs/x/b.R1.D0.data")).tag == "b.R1.D0"


@pytest.mark.parametrize(
    ("tag", "repeat", "reports"),
    [
        (["D0"], "", True),
        (["R1", "D0"], "R1", True),
        (["R12", "0", "node1", "nolog"], "R12", False),
        (["Rx", "D0"], "", True),
        (["D0", "R2"], "R2", True),  # as milabench has it
    ],
)
def test_what_the_words_of_a_tag_say(tag: list[str], repeat: str, reports: bool) -> None:
    found = record(*tag)
    assert found.words == tag
    assert (found.repeat, found.reports) == (repeat, reports)


@pytest.mark.parametrize(
    ("tag", "place"),
    [
        (["R1", "D0"], ("D0", "")),
        (["R12", "0", "node1", "nolog"], ("0", "node1")),
        (["0", "D2", "node1", "nolog"], ("0", "node1")),
        (["0", "D2"], ("0", "")),
        (["D2", "node1"], ("D2", "node1")),
        ([], ("", "")),
    ],
)
def test_the_place_of_a_process_is_in_its_tag(tag: list[str], place: tuple[str, str]) -> None:
    assert record(*tag).place == place


def test_a_node_whose_name_looks_like_a_repeat() -> None:
    found = Record(Path("b.D0.R1.data"), {"tag": ["b", "D0", "R1"]}, meta={"node": "R1"})
    assert (found.repeat, found.node) == ("", "R1")


def test_what_a_node_recorded_of_itself() -> None:
    gpus = {"0": {"uuid": "GPU-1"}, "1": "damaged"}
    meta = {"node": "n1", "accelerators": {"arch": "cuda", "gpus": gpus}}
    found = Record(Path("b.data"), meta=meta)
    assert (found.node, found.accelerators["arch"]) == ("n1", "cuda")
    assert (found.gpu(0), found.gpu("1"), found.gpu(2)) == ({"uuid": "GPU-1"}, {}, {})
    alone = Record(Path("b.data"), meta={"accelerators": 3})
    assert (alone.node, alone.gpu(0)) == ("", {})


def test_a_record_without_a_tag_has_no_words() -> None:
    assert Record(Path("b.data"), {"name": "b"}).words == []


@pytest.mark.parametrize(
    ("start", "end", "seconds"),
    [
        ({"time": 10.0}, {"time": 12.5}, 2.5),
        ({"time": 10.0}, None, None),
        (None, {"time": 12.5}, None),
        ({"time": None}, {"time": 12.5}, None),
        ({}, {"time": 12.5}, None),
    ],
)
def test_how_long_a_process_ran(start: object, end: object, seconds: float | None) -> None:
    found = record("D0")
    found.start, found.end = start, end
    assert found.seconds == seconds


def test_the_defects_of_a_record() -> None:
    found = record("D0")
    found.defects.append(FileDefect(found.path, DefectKind.CUT_OFF, 7))
    assert found.has(DefectKind.NOT_JSON, DefectKind.CUT_OFF)
    assert not found.has(DefectKind.NOT_JSON)


def test_a_run_without_a_state_is_named_after_its_folder() -> None:
    assert Run(Path("runs/rijubigo"), None, (), ()).name == "rijubigo"
    header = RunHeader("first", "1", 1.0, [], "small", "c.yaml", {}, {})
    run = Run(Path("runs/copy"), RunState(header, {}), (), ())
    assert (run.name, run.goes_on) == ("first", True)
