"""Tables and findings about bandwidth, from made-up runs whose truth is known."""

import numpy as np
import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.tables.bandwidth import bandwidth as bandwidths
from milabench_ddp.report.tables.bandwidth import link_map, links, pairs
from milabench_ddp.table import text_lines
from tests.golden import check_golden
from tests.support.link_files import pair_rows, write_pairs
from tests.support.result_files import config, end, rates, start, told, write

OK = end(0, outcome="ok", reason="")


def run_of(folder, tag, *payloads):
    observed = rates([10.0, 10.1, 9.9], units="GB/s")
    write(folder, tag, config(tag.split(".")[0]), start(), *payloads, observed, OK)


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


@pytest.mark.parametrize(("speed", "share"), [(2662.0, 1.0), (2663.0, None), (4300.0, None)])
def test_a_share_above_1_is_no_share(tmp_path, speed, share):
    """An MI300X by the formula of its clock and width, which tells half."""
    row = {"path": "triad", "bytes": 2**30, "gb_s": speed, "data_sheet_gb_s": 2662.0}
    run_of(tmp_path, "membw.D0", told(bandwidth=row))
    table = bandwidths(report_of([tmp_path]).rows)
    columns = dict(zip([column.name for column in table.columns], table.rows[0], strict=True))
    assert columns.get("share") == share


def test_damaged_rows_are_left_out(tmp_path):
    bad = [told(pair={"from": 0}), told(pair={"from": "0", "to": 1, "ways": 1, "gb_s": 1.0}),
           told(bandwidth={"path": "copy", "bytes": 1.5, "gb_s": 1.0}),
           told(bandwidth={"path": "copy", "bytes": 8, "gb_s": "fast"})]  # fmt: skip
    run_of(tmp_path, "pairs", *bad)
    rows = report_of([tmp_path]).rows
    assert (links(rows).rows, pairs(rows).rows, bandwidths(rows).rows) == ((), (), ())


def test_a_data_sheet_of_0_has_no_share(tmp_path):
    row = {"path": "copy", "bytes": 8, "gb_s": 20.0, "data_sheet_gb_s": 0.0}
    run_of(tmp_path, "membw.D0", told(bandwidth=row))
    table = bandwidths(report_of([tmp_path]).rows)
    assert [row[:4] for row in table.rows] == [("membw", "copy", "8", 20.0)]
    assert "share" not in [column.name for column in table.columns]


def test_the_map_of_links_marks_what_is_slow(tmp_path):
    speeds = np.full((5, 5), 40.0)
    speeds[0] *= 0.79  # sends slowly
    speeds[4, 1] = 19.0
    speeds[1, 2] = np.nan
    speeds[3, 0] = 38.1
    speeds[2, 4] = 7.0
    write_pairs(tmp_path, [speeds], pair_rows(speeds * 2, schedule="alone"))
    text = "\n".join(text_lines(link_map(report_of([tmp_path]).rows)))
    check_golden("report/link_map.txt", text)


@pytest.mark.parametrize("nodes", [96, 97])
def test_the_map_of_many_nodes_has_no_marks(tmp_path, nodes):
    write_pairs(tmp_path, [np.full((nodes, nodes), 40.0)])
    table = link_map(report_of([tmp_path]).rows)
    assert bool(table.notes) is (nodes <= 96)  # what the marks mean, where there are any
    assert len(table.rows) == nodes
    assert (table.columns[-1].name == "to each node") == (nodes == 96)
