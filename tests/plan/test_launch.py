from milabench_ddp.plan.launch import Launch, Process
from tests.support.launches import benchmark


def process(*tag: str, **env: str) -> Process:
    return Process(("b", *tag), ("program",), env, 0, (0,))


def test_the_name_of_a_process_is_its_tag() -> None:
    assert process("R1", "D0", "node2").name == "b.R1.D0.node2"


def test_a_rank_is_told_by_its_environment() -> None:
    assert process(RANK="0").is_rank
    assert not process(LOCAL_RANK="0").is_rank


def test_only_independent_processes_need_a_signal_to_measure_together() -> None:
    one, two, rank = process("D0"), process("D1"), process("D1", RANK="1")
    assert Launch(benchmark(), None, (one, two)).barrier
    assert not Launch(benchmark(), None, (one,)).barrier
    assert not Launch(benchmark(), None, (one, rank)).barrier
