import torch

from benchmarks.comm.collectives import OPERATIONS, Exchange, RankTensors

CPU = torch.device("cpu")


def test_the_factors_of_nccl_tests():
    factors = {name: [float(op.bus_factor(n)) for n in (2, 8)] for name, op in OPERATIONS.items()}
    assert factors == {
        "all_reduce": [1.0, 1.75],
        "all_gather": [0.5, 0.875],
        "reduce_scatter": [0.5, 0.875],
        "all_to_all": [0.5, 0.875],
        "broadcast": [1.0, 1.0],
        "p2p": [1.0, 1.0],
    }


def test_what_ranks_give_and_its_sum():
    tensors = RankTensors(1, 8, CPU, torch.float32)
    given = [tensors.input_of(rank, 7, offset=2) for rank in range(8)]
    assert given[1].tolist() == [3, 1, 2, 3, 1, 2, 3]
    assert torch.equal(torch.stack(given).sum(0), tensors.sum_of_inputs(7, offset=2))


def exchange(result: torch.Tensor, expected: torch.Tensor, *, sums: bool) -> Exchange:
    return Exchange(lambda: None, result, result, lambda: expected, sums)


def test_copies_are_exact_and_sums_may_be_rounded():
    expected = torch.full((4,), 300.0)
    rounded = torch.full((4,), 302.0, dtype=torch.bfloat16)  # the next to 300 is 302
    assert exchange(rounded, expected, sums=True).is_correct(ranks=8)
    assert not exchange(rounded, expected, sums=True).is_correct(ranks=2)
    assert not exchange(rounded, expected, sums=False).is_correct(ranks=8)
    assert not exchange(torch.full((4,), torch.nan), expected, sums=True).is_correct(ranks=8)


def refilled(given: torch.Tensor, result: torch.Tensor, *, sums: bool) -> torch.Tensor:
    Exchange(lambda: None, given, result, lambda: result, sums).refill()
    return given


def test_what_is_timed_is_random_unless_it_would_grow():
    for sums in (False, True):
        assert len(refilled(torch.zeros(8), torch.zeros(8), sums=sums).unique()) == 8
    both, whole = torch.ones(8), torch.ones(8)
    assert not refilled(both, both, sums=True).any()
    assert refilled(whole[2:4], whole, sums=False).all()  # in place: a part of the result
