import pytest
import torch

from tests.support.programs import program
from tests.support.two_ranks import check_two_ranks

elastic = program("elastic_ddp")


def test_a_group_of_one_runs_the_same_program(wire):
    elastic.main(["--steps", "20", "--warmup", "2", "--device", "cpu"])
    payloads = wire.close()
    assert {p["units"] for p in payloads if "rate" in p} == {"items/s"}
    assert len(payloads[-1]["step_times"]["ms"]) == 20


def test_the_model_is_that_of_the_tutorial():
    model = elastic.ToyModel()
    assert sum(p.numel() for p in model.parameters()) == 10 * 10 + 10 + 10 * 5 + 5
    assert model(torch.zeros(3, 10)).shape == (3, 5)


def test_every_step_draws_new_samples():
    batches = elastic.samples(4, torch.device("cpu"))
    (first, target), (second, _) = next(batches), next(batches)
    assert (first.shape, target.shape) == ((4, 10), (4, 5))
    assert not torch.equal(first, second)


@pytest.mark.slow
def test_two_ranks(wire):
    """Each would choose another number of steps by its own time."""
    check_two_ranks(wire, "elastic_ddp", "--steps 50 --seconds 0.3 --warmup 20", items=20)
