"""A validation on a Slurm cluster, one node of which hangs: what is kept of it, and of no other."""

import pytest

from tests.support.archives import archived

from .sweeps import ended

pytestmark = pytest.mark.slurm


@pytest.mark.parametrize("odd", [pytest.param("node1", marks=pytest.mark.slow), "node3"])
def test_the_node_that_hangs_is_seen_before_it_is_stopped(cluster, make_sweep, tmp_path, odd):
    sweep = make_sweep(tmp_path, {"hangs": [3]}, options="{nodelist: 'node[1-3]'}")
    program = tmp_path / "program.py"
    hangs = f'case "hangs" if socket.gethostname() == "{odd}":'
    program.write_text(program.read_text().replace('case "hangs":', hangs))
    config = sweep.config.read_text()
    sweep.config.write_text(config.replace("  weight: 1\n", "  weight: 1\n  tags: [validate]\n", 1))
    code, _, err = ended(sweep.begin())
    assert code == 1, err
    assert [path.name for path in (sweep.run / "evidence").iterdir()] == [f"{odd}.tar.gz"]
    kept = archived(sweep.run, odd)
    assert f"{odd}, hangs-3 hangs or waits, and still runs" in kept["hangs-3/about.txt"]
    assert "program.py hangs hangs-3" in kept["hangs-3/own-processes.txt"]
