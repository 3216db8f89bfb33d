import pytest
import torch

from benchmarks.bits.network import Network, whole_numbers

HOST = torch.device("cpu")


class Shown:
    """What a network showed."""

    def __init__(self):
        self.names, self.values = [], []

    def __call__(self, name, values):
        self.names.append(name)
        self.values.append(values.detach().clone())


def shown(steps=1, dtype=torch.float32, seed=0, network=None, width=16):
    seen = Shown()
    network = network or Network(width, 8, dtype, HOST, seed, seen)
    network._seen = seen
    for _ in range(steps):
        network.step()
    return network, seen


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_same_seed_gives_the_same_bits_and_after_a_restart_again(dtype):
    network, first = shown(steps=3, dtype=dtype)
    _, second = shown(steps=3, dtype=dtype)
    network.restart()
    _, again = shown(steps=3, network=network)
    for other in (second, again):
        assert other.names == first.names
        assert all(map(torch.equal, other.values, first.values))
    _, different = shown(steps=1, dtype=dtype, seed=1)
    assert not torch.equal(different.values[0], first.values[0])


def test_every_kind_of_tensor_is_shown_in_the_order_in_which_it_is_computed():
    _, seen = shown()
    assert len(set(seen.names)) == len(seen.names)
    order = [
        "embedding: product", "layer 0 attention norm: values", "layer 0 qkv: product",
        "layer 0 attention: scores", "layer 0 attention: values", "layer 0 projection: product",
        "layer 1 down: product", "head: product", "loss", "head: gradient",
        "layer 1 down: gradient", "layer 0 qkv: gradient", "embedding: gradient",
        "embedding: weights", "head: weights",
    ]  # fmt: skip
    places = [seen.names.index(name) for name in order]
    assert places == sorted(places)


def test_it_trains():
    _, seen = shown(steps=20)
    losses = [float(v) for name, v in zip(seen.names, seen.values, strict=True) if name == "loss"]
    assert losses[-1] < 0.8 * losses[0]
    assert all(torch.isfinite(values).all() for values in seen.values)


@pytest.mark.parametrize("width", [64, 128, 4096])
def test_the_first_numbers_are_exact_in_every_type(width):
    drawn = whole_numbers((width,), 2.0**-6, torch.Generator().manual_seed(0))
    assert torch.equal(drawn.bfloat16().float(), drawn)
    assert drawn.abs().max() <= 2.0**-6
    assert len(drawn.unique()) > 20
