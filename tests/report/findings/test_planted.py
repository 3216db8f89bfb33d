"""A run with planted faults is told from a real one."""

import pytest

from milabench_ddp.report.assemble import report_of
from tests.support.result_files import config, end, rates, start, told, write

FAULT = "slow:0.1@node3"


@pytest.mark.parametrize(
    ("env", "lines", "faults"),
    [
        ({}, [], None),
        ({"MILABENCH_PLANT": ""}, [], None),
        ({"MILABENCH_PLANT": FAULT}, [], [FAULT]),  # of which no program has told
        ({}, [told(3, planted={"fault": FAULT, "node": "node3"})], [FAULT]),
        ({"MILABENCH_PLANT": FAULT}, [told(planted={"fault": FAULT})] * 2, [FAULT]),
        ({}, [told(planted={"fault": 5})], ["5"]),
        ({}, [told(planted={})], None),
    ],
)
def test_planted_faults_are_an_error(tmp_path, env, lines, faults):
    values = rates([100.0, 101.0, 100.0] * 10)
    write(tmp_path, "b.D0", config("b", device=0, env=env), start(), *lines, values, end())
    report = report_of([tmp_path])
    found = [each.evidence["faults"] for each in report.findings if each.name == "planted"]
    assert found == ([] if faults is None else [faults])
    assert report.passed == (faults is None)
