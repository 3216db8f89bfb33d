"""Rehearsals: what is planted where, and what is said of it. The runs are made up; one is real."""

import math
import re
from collections.abc import Callable
from itertools import permutations

import numpy as np
import pytest

from milabench_ddp.cli import main
from milabench_ddp.commands import rehearse, run
from milabench_ddp.config.conditions import MachineFacts
from milabench_ddp.config.load import SuiteRequest, load
from milabench_ddp.errors import SelectionError
from milabench_ddp.options.suite import RunOptions
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.validation.peers import judged
from milabench_ddp.results.run_dir import RunDir
from tests.support.result_files import config, end, line, rates, start, told, write, write_state
from tests.support.workplace import EMIT, Workplace

PLACE = ("--device", "cpu", "--gpus", "1", "--nodes", "4", "--name", "mine")
Cluster = Callable[[RunOptions, str], set[str]]
"""Which nodes of a run break, by the text of what is planted."""


def planted_in(options: RunOptions) -> str:
    (override,) = [each for each in options.override if each.startswith("*.env.MILABENCH_PLANT=")]
    return override.partition("=")[2]


def its_nodes(text: str) -> set[str]:
    """The names of the nodes that the text of a fault has."""
    _, _, where = text.partition("@")
    return {f"node{rank}" for rank in where.split("..") if rank}


@pytest.fixture
def rehearsed(tmp_path, monkeypatch, capsys):
    """Rehearses on a made-up cluster; returns the exit code, the rows, and the options of runs."""
    monkeypatch.setenv("COLUMNS", "400")

    def rehearse_on(
        cluster: Cluster, *words: str, noise: float = 0.01
    ) -> tuple[int, dict[str, list[str]], list]:
        asked: list[RunOptions] = []
        rng = np.random.default_rng(0)

        def made_up(options: RunOptions) -> int:
            asked.append(options)
            text = planted_in(options)
            broken, folder = cluster(options, text), tmp_path / "runs" / str(options.name)
            for rank in range(4):
                node = f"node{rank}"
                name, env = options.select[0], {"MILABENCH_PLANT": text}
                tag = [name, "D0", node]
                of = config(name, device=0, tag=tag, tags=["validate"], env=env)
                how = end(1, outcome="failed", reason="it broke") if node in broken else None
                seen = rates(100 * np.exp(rng.normal(0, noise, 60)))
                parts = line("meta", {"node": node}), start(), seen, how or end(0, outcome="ok")
                write(folder, ".".join(tag), of, *parts)
            if text == rehearse.CONTROL:
                pairs = [
                    {"from": i, "to": j, "ways": 1, "nodes": [f"node{i}", f"node{j}"],
                     "bytes": 10**7, "gb_s": 1.0, "best_gb_s": math.exp(noise * rng.normal())}
                    for i, j in permutations(range(4), 2)
                ]  # fmt: skip
                links = [told(pair=pair) for pair in pairs]
                write(folder, "pairs", config("pairs"), start(), *links, rates([1.0]), end(0))
            how = "failed" if broken else "ok"
            write_state(folder, how, {name: how}, machine={"accelerators": {"arch": "cpu"}})
            return int(bool(broken))

        monkeypatch.setattr(run, "main", made_up)
        code = main(["validate", "--rehearse", *PLACE, "--base", str(tmp_path), *words])
        shown = capsys.readouterr()
        assert shown.err.count("rehearsal ") == len(rehearse.FAULTS)
        headline, header, *rows = shown.out.splitlines()
        assert headline.startswith("REHEARSAL: ")
        names = [cell.strip() for cell in header.split("|")]
        cells = [[cell.strip() for cell in row.split("|")] for row in rows if "|" in row]
        table = {each[0]: dict(zip(names, each, strict=True)) for each in cells}
        return code, table, [*asked, headline]

    return rehearse_on


def all_found(options: RunOptions, text: str) -> set[str]:
    return its_nodes(text)


def test_a_validation_that_finds_all_is_a_diagonal(rehearsed):
    code, table, (*_, headline) = rehearsed(all_found, "--repeat", "5")
    assert code == 0
    assert headline == "REHEARSAL: 50 of 50 planted faults found, 0 nodes accused without one"
    for fault in rehearse.FAULTS:
        row = table[fault.name]
        none = fault.name == rehearse.CONTROL or fault.on_gpus
        assert row["its node fails"] == ("0" if none else "5")
        assert row["times"] == ("0" if fault.on_gpus else "5")
        if not none:
            assert row["by"].startswith("failed_on_node")
            assert row["where"] == "node[0-3]"  # on one after the other
    assert table["a hidden GPU"]["by"] == "not planted: no GPU"
    assert {row["missed"] + row["others fail"] for row in table.values()} == {"00"}


def test_a_validation_that_finds_nothing_misses_all(rehearsed):
    code, table, _ = rehearsed(lambda options, text: set())
    assert code == 1
    missed = {name: row["missed"] for name, row in table.items()}
    assert missed.pop("nothing") == missed.pop("a hidden GPU") == "0"
    assert set(missed.values()) == {"1"}
    (said,) = {table[name]["by"] for name in missed}
    assert re.fullmatch(r"a defect below \d\.?\d*% could not be seen", said)  # rates scatter by 1 %


def test_who_is_accused_wrongly_is_counted_also_where_nothing_is_planted(rehearsed):
    def accusing(options: RunOptions, text: str) -> set[str]:
        if text == "nothing":
            return {"node3"}
        return its_nodes(text) | ({"node0"} if text.startswith("hang") else set())

    code, table, (*_, headline) = rehearsed(accusing)
    assert code == 1
    accused = {name: row["others fail"] for name, row in table.items()}
    assert accused.pop("nothing") == accused.pop("a hang") == "1"
    assert set(accused.values()) == {"0"}
    assert headline.endswith("8 of 10 planted faults found, 2 nodes accused without one")
    # it is on node3, which fails without a fault
    assert {name for name, row in table.items() if row["missed"] == "1"} == {
        "a bit that flips once",
        "a loss of NaN",
    }


def test_the_fault_of_another_node_is_missed_and_the_accused_one_is_wrong(rehearsed):
    def beside(options: RunOptions, text: str) -> set[str]:
        return {"node0"} if text.startswith("exit") else its_nodes(text)

    _, table, _ = rehearsed(beside)
    row = table["an early end"]
    assert row["where"] == "node2"
    assert (row["its node fails"], row["missed"], row["others fail"]) == ("0", "1", "1")


def test_what_runs_has_its_fault_and_a_name_of_its_own(rehearsed):
    _, _, (*asked, _) = rehearsed(all_found, "--repeat", "2", "--override", "bits.weight=1")
    assert len({each.name for each in asked}) == len(asked)
    assert len(asked) == 2 * (len(rehearse.FAULTS) - 1)  # no GPU is there
    for each in asked:
        assert each.override[0] == "bits.weight=1"
        assert each.repeat is None
        assert each.config == "validate"
    texts = [planted_in(each) for each in asked]
    kinds = [re.sub(r":[\d.]+@", "@", text) for text in texts]
    assert kinds[:4] == ["nothing", "nothing", "slow@1", "slow@2"]
    assert kinds[4:6] == ["delay_link@2..3", "delay_link@3..0"]
    assert asked[0].select == ("membw-triad", "bits", "pairs")
    assert asked[2].select == ("membw-triad",)


def planted_sizes(asked: list[RunOptions]) -> tuple[float, float]:
    """By how much a device is slower and a link, as fractions; a message takes 10 ms."""
    texts = {planted_in(each) for each in asked}
    (share,) = {float(each[5:].partition("@")[0]) for each in texts if each.startswith("slow:")}
    (ms,) = {float(each[11:].partition("@")[0]) for each in texts if each.startswith("delay_link:")}
    return share / (1 + share), ms / (10 + ms)


def test_a_defect_is_larger_than_what_runs_without_one_promise_to_show(rehearsed, tmp_path):
    """By half, as logarithms: a small one on quiet nodes, a large one on noisy ones."""
    _, table, (*asked, _) = rehearsed(all_found, noise=0.001)
    slower = planted_sizes(asked)
    row = next(row for row in report_of([tmp_path / "runs/mine.0.0"]).rows if row.name != "pairs")
    smallest = max(each.smallest for each in judged(row))
    assert slower[0] == pytest.approx(1 - (1 - smallest) ** 1.5, rel=1e-3)
    assert 0.05 < smallest < slower[0] < 0.2
    assert 0.05 < slower[1] < 0.2
    shown = [table[name]["slower by"] for name in ("a slow device", "a slow link", "a hang")]
    assert shown == [*(f"{each:.0%}" for each in slower), ""]


def test_on_noisy_nodes_it_is_larger_but_never_so_large_that_it_takes_too_long(rehearsed):
    _, _, (*noisy, _) = rehearsed(all_found, noise=0.3)
    assert min(planted_sizes(noisy)) > 0.6
    _, table, (*wild, _) = rehearsed(all_found, "--name", "again", noise=0.9)
    assert planted_sizes(wild)[0] == pytest.approx(0.97, abs=1e-3)
    assert {table[name]["slower by"] for name in ("a slow device", "a slow link")} == {"97%"}


def test_hosts_have_the_ranks_of_their_system_file(rehearsed, tmp_path):
    """The one that coordinates is the first, then they are as they stand in the file."""
    listed = [f"{{name: {name}, ip: 10.0.0.1}}" for name in ("node3", "node1", "node0")]
    listed.insert(2, "{name: node2, ip: 10.0.0.1, main: true}")
    nodes = "".join(f"    - {each}\n" for each in listed)
    (tmp_path / "system.yaml").write_text(f"system:\n  nodes:\n{nodes}")
    ranks = ["node2", "node3", "node1", "node0"]

    def by_rank(options: RunOptions, text: str) -> set[str]:
        return {ranks[int(name.removeprefix("node"))] for name in its_nodes(text)}

    words = ("--system", str(tmp_path / "system.yaml"), "--runner", "ssh")
    code, table, _ = rehearsed(by_rank, *words)
    assert code == 0
    assert table["a slow device"]["where"] == "node3"


def test_what_cannot_be_planted_is_no_miss(rehearsed):
    def without_pairs(options: RunOptions, text: str) -> set[str]:
        if options.select == ("pairs",):
            raise SelectionError("nothing to run")
        return its_nodes(text)

    code, table, _ = rehearsed(without_pairs)
    assert code == 0
    assert table["a slow link"]["by"] == "not planted: nothing to run"
    assert table["a slow link"]["slower by"] == ""


def test_a_rehearsal_that_is_cancelled_ends_and_shows_what_it_has(monkeypatch, tmp_path, capsys):
    begun = []

    def cancelled(options: RunOptions) -> int:
        begun.append(options.name)
        return 130

    monkeypatch.setattr(run, "main", cancelled)
    assert main(["validate", "--rehearse", *PLACE, "--base", str(tmp_path)]) == 130
    assert len(begun) == 1
    assert capsys.readouterr().out.startswith("REHEARSAL: 0 of 0 planted faults found")


@pytest.mark.parametrize("words", [["--level", "deep"], ["--select", "x"], ["--until", "1%"]])
def test_what_it_chooses_itself_is_refused(words, capsys):
    assert main(["validate", "--rehearse", *words]) == 2
    assert f"leave out {words[0]}" in capsys.readouterr().err


def test_a_fault_is_planted_in_benchmarks_that_the_shipped_suite_has(tmp_path):
    names = tuple({name for each in rehearse.FAULTS for name in each.benchmark.split(",")})
    facts = MachineFacts("cuda", 4, 8, 64, "GPU", 8e4, tmp_path)
    assert len(load(SuiteRequest("validate", select=names), facts).benchmarks) == len(names)


HEEDS = (
    EMIT
    + """
what, _, where = os.environ["MILABENCH_PLANT"].partition("@")
if what == "exit:20" and where == os.environ["MILABENCH_NODE_RANK"]: os._exit(1)
for step in range(20): rate(100.0 + step % 3)
"""
)


@pytest.mark.slow
def test_a_real_rehearsal_writes_no_lists_of_nodes(at: Workplace) -> None:
    """With a program that heeds one fault, and an agent that heeds its own."""
    at.write("p.py", HEEDS)
    names = {name for each in rehearse.FAULTS for name in each.benchmark.split(",")}
    of = "{program: p.py, plan: {method: per_gpu}, tags: [validate], max_duration: 60}"
    at.write("mine.yaml", "\n".join(f"{name}: {of}" for name in names))
    done = at.milabench("validate", "mine.yaml", "--rehearse", *PLACE)
    assert done.code == 1, done.err
    rows = [[cell.strip() for cell in row.split("|")] for row in done.out.splitlines()]
    found = {row[0]: row[3:5] for row in rows if len(row) > 4}
    assert found["an early end"] == ["1", "0"]
    assert found["another variable"] == ["0", "1"]
    assert found["a hang"] == ["0", "0"]
    folders = [RunDir(path) for path in (at.run().parent).iterdir()]
    assert len(folders) == len(rehearse.FAULTS) - 1  # no GPU is there
    assert not [path for each in folders for path in each.path.glob("*_nodes.txt")]
