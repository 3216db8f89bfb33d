"""Tables and findings about bandwidth, from made-up runs whose truth is known."""

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.bandwidth import bandwidths, links, pairs
from tests.support.result_files import config, end, rates, start, told, write

OK = end(0, outcome="ok", reason="")


def run_of(folder, tag, *payloads):
    observed = rates([10.0, 10.1, 9.9], units="GB/s")
    write(folder, tag, config(tag.split(".")[0]), start(), *payloads, observed, OK)


def pair(sender, receiver, gb_s, *, ways=1, nodes=("n0", "n0"), best=None):
    best = gb_s if best is None else best
    return told(pair={"from": sender, "to": receiver, "ways": ways, "nodes": list(nodes),
                      "gb_s": gb_s, "best_gb_s": best})  # fmt: skip


def test_a_share_of_the_data_sheet_over_devices(tmp_path):
    for device, speed in enumerate((3000.0, 2000.0)):
        row = {"path": "triad", "bytes": 2**30, "gb_s": speed, "data_sheet_gb_s": 3350.0}
        run_of(tmp_path, f"membw.D{device}", told(bandwidth=row))
    row = {"path": "h2d pageable", "bytes": 1000, "gb_s": 20.0, "data_sheet_gb_s": None}
    run_of(tmp_path, "transfer.D0", told(bandwidth=row))
    first, second = bandwidths(report_of([tmp_path]).rows).rows
    assert first[:3] == ("membw", "triad", "1Gi")
    assert first[3:] == pytest.approx((2500.0, 2000.0, 3350.0, 2500 / 3350))
    assert second[:4] == ("transfer", "h2d pageable", "1000", 20.0)


def every_pair(gb_s, ranks=4):
    for sender in range(ranks):
        for receiver in range(ranks):
            if sender != receiver:
                node = f"n{sender // 2}", f"n{receiver // 2}"
                yield sender, receiver, node, gb_s if node[0] == node[1] else gb_s / 10


def findings(tmp_path):
    found = report_of([tmp_path]).findings
    return [(each.place, each.sentence) for each in found if each.name == "slow_link"]


@pytest.mark.parametrize(("slow", "where"), [((0, 2), "between nodes"), ((3, 1), "between nodes")])
def test_a_slow_link_is_named_among_its_kind(tmp_path, slow, where):
    told_pairs = []
    for sender, receiver, nodes, gb_s in every_pair(100.0):
        speed = gb_s * 0.7 if (sender, receiver) == slow else gb_s
        told_pairs.append(pair(sender, receiver, speed, nodes=nodes))
    run_of(tmp_path, "pairs", *told_pairs)
    label = f"{slow[0]} -> {slow[1]}"
    assert findings(tmp_path) == [
        (label, f"pairs: ranks {label} exchange 7 GB/s (one way), 30% less than the median of the "
                f"pairs {where} (10)")
    ]  # fmt: skip
    rows = report_of([tmp_path]).rows
    assert [row[1:] for row in links(rows).rows] == [
        ("within a node", "one way", 4, 100.0, "0 -> 1", 100.0),
        ("between nodes", "one way", 8, 10.0, label, 7.0),
    ]
    assert len(pairs(rows).rows) == 12


def test_a_link_that_was_slow_for_a_moment_is_not_named(tmp_path):
    told_pairs = [pair(0, 1, 60.0, best=90.0), pair(1, 0, 81.0)]
    told_pairs += [pair(2, 3, 100.0), pair(3, 2, 100.0)]
    run_of(tmp_path, "pairs", *told_pairs)
    assert findings(tmp_path) == []


def test_damaged_rows_are_left_out(tmp_path):
    bad = [told(pair={"from": 0}), told(pair={"from": "0", "to": 1, "ways": 1, "gb_s": 1.0}),
           told(bandwidth={"path": "copy", "bytes": 1.5, "gb_s": 1.0}),
           told(bandwidth={"path": "copy", "bytes": 8, "gb_s": "fast"})]  # fmt: skip
    run_of(tmp_path, "pairs", *bad)
    rows = report_of([tmp_path]).rows
    assert (links(rows).rows, pairs(rows).rows, bandwidths(rows).rows) == ((), (), ())
