"""A rehearsal on a cluster: what is planted in programs and agents is found, and nothing else."""

import pytest

from milabench_ddp.commands.rehearse import FAULTS

pytestmark = [pytest.mark.slurm, pytest.mark.slow]  # each fault has a run of its own

# They fail their node, or are named, however fast the machine is.
CERTAIN = {
    "a bit that flips once": "its node fails",
    "a bit that is always wrong": "its node fails",
    "a hang": "its node fails",
    "an early end": "its node fails",
    "a loss of NaN": "its node fails",
    "a full disk": "its node fails",
    "a lost node": "its node fails",
    "another variable": "it is named",
}
PATIENCE = 1800  # seconds for a dozen jobs, one after the other


@pytest.mark.timeout(PATIENCE)
def test_what_is_planted_is_found_and_nobody_else_is_accused(cluster, make_sweep, tmp_path):
    sweep = make_sweep(tmp_path, {"quick": [4]})
    words = ["validate", "--rehearse", "--runner", sweep.profile, "--nodes", "4"]
    words += ["--device", "cpu", "--gpus", "1", "--base", tmp_path, "--name", "mine"]
    words += ["--override", "*.env.OMP_NUM_THREADS=1"]  # nodes claim more cores than there are
    command = sweep.milabench(*words)
    out, err = command.communicate(timeout=PATIENCE)
    header, *rows = [line for line in out.splitlines() if "|" in line]
    names = [cell.strip() for cell in header.split("|")]
    cells = [dict(zip(names, map(str.strip, row.split("|")), strict=True)) for row in rows]
    table = {row["planted"]: row for row in cells}
    assert list(table) == [fault.name for fault in FAULTS], err
    for fault, how in CERTAIN.items():
        assert table[fault][how] == table[fault]["times"] == "1", out
    assert {table[fault]["others fail"] for fault in CERTAIN} == {"0"}, out
    assert table["a hidden GPU"]["times"] == "0"
    for fault in ("a slow device", "a slow link"):  # as large as the runs without a fault say
        assert table[fault]["slower by"].endswith("%")
    assert not list(tmp_path.glob("runs/*/*_nodes.txt"))
