from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.hostlist import hostlist, natural
from milabench_ddp.node_lists import listed_nodes

HEADS = st.sampled_from(["node", "n", "r1-n", "gpu1a"])
NAMES = st.builds("{}{}".format, HEADS, st.integers(0, 120)) | st.sampled_from(["login", "a.site"])


@given(st.lists(NAMES, min_size=1))
def test_it_reads_what_slurm_reads(names: list[str]) -> None:
    assert listed_nodes(hostlist(names)) == tuple(sorted(set(names), key=natural))


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("node7", ["node7"]),
        ("node[9-10,2],gpu3", ["gpu3", "node2", "node9", "node10"]),
        ("node[098-100]", ["node098", "node099", "node100"]),
        ("node[1-4]!node2", ["node1", "node3", "node4"]),
        ("n1,n1,n1", ["n1"]),
    ],
)
def test_lists(words: str, names: list[str]) -> None:
    assert listed_nodes(words) == tuple(names)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("node2\nnode1\n", ["node1", "node2"]),
        ("node[1-2]\n\n  gpu3,gpu4  # in rack 7\n#node9\n", ["gpu3", "gpu4", "node1", "node2"]),
        ("", []),
        ("# none\n", []),
        ("\ufeffnode2\r\nnode1 # its fan\r\n", ["node1", "node2"]),  # written on Windows
    ],
)
def test_a_file_has_a_list_in_each_line(tmp_path: Path, text: str, names: list[str]) -> None:
    (tmp_path / "nodes").write_text(text)
    assert listed_nodes(f"@{tmp_path / 'nodes'}") == tuple(names)


@pytest.mark.parametrize(
    "words",
    [
        "node[1-",
        "node[3-1]",
        "n1,,n2",
        "a b",
        "*",
        "x;y",
        "-n",
        "nöde",
        "n\x1b",
    ],
)
def test_what_is_no_list(words: str) -> None:
    with pytest.raises(ValueError, match="is not a list of nodes such as"):
        listed_nodes(words)


@pytest.mark.parametrize(
    "words",
    ["n[1-999]r[1-999]", "n[1-9999999999]", "n[1,7-999999999/2]", "n[1-60000,70000-120000]"],
)
def test_there_are_not_too_many(words: str) -> None:
    with pytest.raises(ValueError, match="more than 100,000 nodes"):
        listed_nodes(words)
