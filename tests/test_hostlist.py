import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from milabench_ddp.hostlist import hostlist, natural, shown_nodes, spans

HEADS = st.sampled_from(["node", "n", "r1-n", "r2-n", "10.0.0.", "gpu1a", ""])
NUMBERS = st.integers(0, 120).map(str) | st.integers(0, 120).map(lambda number: f"{number:03}")
NAMES = st.builds("{}{}".format, HEADS, NUMBERS) | st.sampled_from(["login", "n", "n1-ib", "n2-ib"])


@pytest.mark.parametrize(
    ("names", "folded"),
    [
        ([], ""),
        (["node7"], "node7"),
        (["login"], "login"),
        (["node10", "node2", "node1", "node2"], "node[1-2,10]"),
        ([f"node{k}" for k in range(1000)], "node[0-999]"),
        (["n099", "n100", "n098"], "n[098-100]"),
        (["n9", "n09", "n10"], "n[09,9-10]"),
        (["rack2-n1", "rack1-n10", "rack1-n9"], "rack1-n[9-10],rack2-n1"),
        (["gpu", "gpu1", "gpu2"], "gpu,gpu[1-2]"),
        (["n1.site", "n2.site"], "n1.site,n2.site"),  # Slurm takes no text behind brackets
        (["n" + "1" * 30, "n" + "1" * 29 + "2"], f"n{'1' * 12}[{'1' * 18}-{'1' * 17}2]"),
    ],
)
def test_names_are_folded_as_slurm_writes_them(names: list[str], folded: str) -> None:
    assert hostlist(names) == folded


def test_the_order_is_that_of_the_numbers() -> None:
    names = ["node10", "node2", "login", "node", "node1x2", "node1", "7", "node02"]
    expected = ["7", "login", "node", "node1", "node1x2", "node02", "node2", "node10"]
    assert sorted(names, key=natural) == expected


def test_a_sentence_has_the_first_of_many_spans() -> None:
    assert shown_nodes(["n3", "n1"]) == "n[1,3]"
    assert shown_nodes(f"n{k}" for k in range(1000)) == "n[0-999]"
    said = shown_nodes(f"n{2 * k}" for k in range(1000))
    assert said == f"n[{','.join(str(2 * k) for k in range(31))}] and 969 more"
    assert shown_nodes(["x" * 300, "y"]) == f"{'x' * 300} and 1 more"


def test_spans_of_numbers() -> None:
    assert spans([]) == []
    assert spans([0, 3, 4, 5, 9]) == ["0", "3-5", "9"]


@pytest.fixture(scope="module")
def slurm_conf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("scontrol") is None:
        pytest.skip("no Slurm here: tests/slurm/cluster install")
    conf = tmp_path_factory.mktemp("slurm") / "slurm.conf"
    conf.write_text("ClusterName=x\nSlurmctldHost=x\nNodeName=x\n")
    return conf


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(names=st.lists(NAMES, min_size=1, max_size=40))
def test_slurm_reads_what_is_written(slurm_conf: Path, names: list[str]) -> None:
    done = subprocess.run(
        ["scontrol", "show", "hostnames", hostlist(names)],
        env={**os.environ, "SLURM_CONF": str(slurm_conf)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(done.stdout.split()) == set(names)
