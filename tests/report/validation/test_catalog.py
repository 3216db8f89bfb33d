"""Earlier runs tell where peers cannot."""

from pathlib import Path

import pytest

from milabench_ddp.report.validation.peers import NODE, BesidePeers
from tests.support.result_files import config, end, rates, start, told, write
from tests.support.validated_runs import TAGS, failing, found, healthy, meta, planned


def test_a_device_without_peers_is_compared_with_its_past(tmp_path: Path) -> None:
    for number in range(4):
        planned(tmp_path, f"r{number}", 1000.0 + number, {("", 0): 100 + number / 2})
    planned(tmp_path, "later", 3000, {("", 0): 500})
    planned(tmp_path, "other", 1000, {("", 0): 500}, dtype="fp8")
    (as_before,) = found(planned(tmp_path, "as-before", 2000, {("", 0): 99}))
    assert (as_before.word, as_before.reference) == ("pass", "earlier")
    assert as_before.median == pytest.approx(100.5, rel=0.01)
    (slower,) = found(planned(tmp_path, "slower", 2001, {("", 0): 80}))
    assert (slower.word, slower.reference) == ("fail", "earlier")
    assert slower.lower == pytest.approx(0.2, abs=0.01)


def test_of_two_that_differ_earlier_runs_tell_which_is_wrong(tmp_path: Path) -> None:
    for number in range(3):
        planned(tmp_path, f"r{number}", 1000.0 + number, {("", 0): 100, ("", 1): 101})
    run = planned(tmp_path, "now", 2000, {("", 0): 100, ("", 1): 80})
    judged = {each.place: each for each in found(run)}
    words = {name: each.word for name, each in judged.items()}
    assert words == {"device 0": "pass", "device 1": "fail"}
    assert judged["device 1"].reference == "earlier"


def test_what_peers_tell_stands_beside_what_they_cannot(tmp_path: Path) -> None:
    for number in range(3):  # a site whose devices are as slow as the one that fails
        planned(tmp_path, f"r{number}", 1000.0 + number, {("", k): 80 for k in range(6)})
    run = planned(tmp_path, "now", 2000, {("", k): 80 if k == 2 else 100 for k in range(6)})
    hardly = config("flops", device=5, tag=["flops", "D5"], tags=TAGS)
    loaded = [50.0 if 20 <= k < 32 else 100.0 + 0.1 * (k % 5) for k in range(60)]
    write(run, "flops.D5", hardly, meta(""), start(), rates(loaded, steps=1), end())
    judged = {each.place: each for each in found(run)}
    assert judged["device 5"].reference == "earlier"
    assert (judged["device 2"].word, judged["device 2"].reference) == ("fail", "peers")


@pytest.mark.parametrize("slow", ["n0", "n1"])
def test_of_two_nodes_earlier_runs_tell_which_is_slow(tmp_path: Path, slow: str) -> None:
    for number in range(2):
        planned(tmp_path, f"r{number}", 1000.0 + number, healthy(2))
    speeds = healthy(2)
    speeds |= {place: 0.85 * speed for place, speed in speeds.items() if place[0] == slow}
    failed = failing(planned(tmp_path, "now", 2000, speeds))
    assert (slow, NODE) in failed
    assert {node for node, _ in failed} == {slow}


def test_a_single_earlier_run_does_not_tell_which_is_wrong(tmp_path: Path) -> None:
    planned(tmp_path, "r0", 1000, {("", 0): 100})
    (slower,) = found(planned(tmp_path, "now", 2000, {("", 0): 80}))
    assert slower.word == "cannot tell"
    assert slower.lower == pytest.approx(0.2, abs=0.01)


def test_runs_with_planted_faults_are_no_past(tmp_path: Path) -> None:
    for number in range(4):
        folder = planned(tmp_path, f"r{number}", 1000.0 + number, {("", 0): 50})
        for path in folder.glob("*.data"):
            path.write_text(path.read_text() + told(planted={"fault": "slow:1"}))
    (alone,) = found(planned(tmp_path, "now", 2000, {("", 0): 100}))
    assert alone.word == "cannot tell"
    assert alone.reference == ""


def lone_product(folder: Path, tflop_s: float, dtype: str = "bf16") -> BesidePeers:
    settings = config("flops", device=0, tags=TAGS, argv={"--dtype": dtype})
    values = rates([tflop_s + 0.1 * (k % 5) for k in range(60)], units="TFLOP/s", steps=1)
    write(folder, "flops.D0", settings, meta("", "NVIDIA H100 80GB HBM3"), start(), values, end())
    (only,) = found(folder)
    return only


def test_without_earlier_runs_a_published_figure_of_the_same_work_tells(tmp_path: Path) -> None:
    healthy = lone_product(tmp_path / "a", 760)
    assert (healthy.word, healthy.reference, healthy.median) == ("pass", "published", 794.5)
    assert healthy.smallest == pytest.approx(0.2)
    sick = lone_product(tmp_path / "b", 300)
    assert (sick.word, sick.reference) == ("fail", "published")
    assert sick.lower == pytest.approx(1 - 300 / 794.5, rel=0.01)
    assert lone_product(tmp_path / "c", 300, "int8").word == "cannot tell"


def test_of_two_that_differ_a_published_figure_tells_which_is_wrong(tmp_path: Path) -> None:
    for device, speed in enumerate((780.0, 300.0)):
        tag = ["flops", f"D{device}"]
        settings = config("flops", device=device, tag=tag, tags=TAGS, argv={"--dtype": "bf16"})
        values = rates([speed + 0.1 * (k % 5) for k in range(60)], units="TFLOP/s", steps=1)
        product = meta("", "NVIDIA H100 80GB HBM3")
        write(tmp_path, ".".join(tag), settings, product, start(), values, end())
    told = [(each.place, each.word, each.reference) for each in found(tmp_path)]
    assert told == [("device 0", "pass", "published"), ("device 1", "fail", "published")]
