"""Values of products in fp8, from an instrument that has none: the same numbers in fp32."""

import pytest
import torch
from torch import nn

from benchmarks.common.failure import SkippedError, UnsupportedError
from benchmarks.common.precision import fp8_type, require_fp8
from benchmarks.common.strategies import float8
from benchmarks.common.strategies.float8 import swap
from tests.support import fake_fp8
from tests.support.programs import program

flops = program("flops")


@pytest.fixture
def fp8(device):
    """The device, if it has fp8: PyTorch has the product on CPUs too, slowly."""
    if device.type == "cuda":
        try:
            require_fp8(device)
        except (SkippedError, UnsupportedError) as error:
            pytest.skip(str(error))
    return device


@pytest.mark.parametrize("shape", [(16, 32, 48), (256, 512, 1024)])
def test_the_product_of_flops_is_a_product(fp8, shape):
    m, n, k = shape
    multiply, result = flops.product(shape, flops.FP8, fp8, seed=1)
    multiply()
    torch.manual_seed(1)
    a = torch.randn(m, k, device=fp8).to(fp8_type(fp8)).double()
    b = torch.randn(n, k, device=fp8).to(fp8_type(fp8)).double()
    expected = a @ b.T
    assert (result.double() - expected).norm() < 0.02 * expected.norm()


@pytest.mark.parametrize("recipe", ["tensorwise", "rowwise"])
def test_a_layer_multiplies_numbers_of_four_bits(monkeypatch, fp8, recipe):
    """With a largest value of 448, e4m3's own, 1.0625 rounds to 1, and 448 to itself."""
    config = pytest.importorskip("torchao.float8").Float8LinearConfig
    if fp8.type == "cpu":  # where torchao emulates it
        monkeypatch.setattr(config, "from_recipe_name", config.from_recipe_name)
        monkeypatch.setattr(float8, "require_fp8", float8.require_fp8)
        fake_fp8.allow_fp8_on_cpus()
    settings = {"device": fp8, "dtype": torch.bfloat16}
    layers = {"a": nn.Linear(16, 16, bias=False), "b": nn.Linear(16, 8, bias=False)}
    block = nn.ModuleDict(layers).to(**settings)
    swap([block], recipe, shards=1)
    layer, other = block["a"], block["b"]
    assert type(other) is nn.Linear
    with torch.no_grad():
        layer.weight.copy_(448 * torch.eye(16))
    x = torch.full((16, 16), 1.0625, **settings)
    x[:, 0] = 448
    x.requires_grad_()
    out = layer(x)
    assert torch.equal(out[:, 0], torch.full((16,), 448.0**2, **settings))
    assert torch.equal(out[:, 1:], torch.full((16, 15), 448.0, **settings))
    out.backward(torch.eye(16, **settings))
    assert torch.equal(x.grad, layer.weight)
    assert torch.equal(layer.weight.grad[0, :2], torch.tensor([448.0, 1.0], **settings))
