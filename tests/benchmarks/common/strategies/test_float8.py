"""Which layers multiply in fp8, that they do, and who is refused."""

import sys
from dataclasses import replace
from functools import partial

import pytest
import torch
from torch import nn
from torch._inductor import config as inductor
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.common import correctness, strategies
from benchmarks.common.failure import SkippedError, UnsupportedError
from benchmarks.common.group import Group
from benchmarks.common.strategies import float8
from benchmarks.common.strategies.float8 import convertible, swap
from benchmarks.common.workload import repeated_blocks
from benchmarks.gpt import model as gpt
from benchmarks.gpt.shares import recomputed_flop
from tests.support import fake_fp8
from tests.support.strategies import BATCH, SHAPE, batch, option_parser, options, workload

GPU = Group(torch.device("cuda", 0))


@pytest.fixture
def torchao(monkeypatch):
    """The real torchao, which emulates products in fp8."""
    config = pytest.importorskip("torchao.float8").Float8LinearConfig
    monkeypatch.setattr(config, "from_recipe_name", config.from_recipe_name)
    monkeypatch.setattr(float8, "require_fp8", float8.require_fp8)
    fake_fp8.allow_fp8_on_cpus()
    with inductor.patch(emulate_precision_casts=False):
        yield


@pytest.fixture
def gpu(monkeypatch):
    """A GPU of this capability."""

    def of(*capability):
        monkeypatch.setattr(torch.version, "hip", None)
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)

    return of


def check(argv, group=GPU, precision="bf16", change=None):
    args = options(argv, precision=precision)
    asked = workload(args)
    strategies.check(args, change(asked) if change else asked, group)


def test_layers_of_blocks_whose_sides_are_multiples_of_sixteen():
    block = nn.ModuleDict(
        {"good": nn.Linear(32, 48), "narrow": nn.Linear(24, 48), "low": nn.Linear(48, 40)}
    )
    # Attention's own layer is never called: its weights are used by the attention itself.
    block["attention"] = nn.MultiheadAttention(32, 2)
    assert convertible([block]) == [block["good"]]
    assert convertible([block], shards=2) == []
    model = gpt.make(SHAPE)
    assert len(convertible(gpt.blocks_of(model))) == 4 * SHAPE.layers  # and not the scores


@pytest.mark.parametrize(("recipe", "rounds_as_eager"), [("tensorwise", False), ("rowwise", True)])
def test_inductor_computes_rows_again_as_they_were(torchao, recipe, rounds_as_eager):
    swap(gpt.blocks_of(gpt.make(SHAPE)), recipe, shards=1)
    assert inductor.emulate_precision_casts is rounds_as_eager


def test_the_model_keeps_its_parameters(torchao):
    args = options("--mode single --float8 tensorwise", precision="bf16")
    strategy = strategies.build(args, workload(args), Group(torch.device("cpu")))
    plain = gpt.make(SHAPE)
    assert dict(strategy.model.named_parameters()).keys() == dict(plain.named_parameters()).keys()
    assert strategy.metrics()["float8"] == "tensorwise"
    assert strategies.compute_dtype(args) == "fp8"
    kinds = {type(layer).__name__ for layer in strategy.model.blocks.modules()}
    assert "Float8Linear" in kinds
    assert "Linear" not in kinds
    assert type(strategy.model.head.score) is nn.Linear


@pytest.mark.slow
@pytest.mark.parametrize("argv", ["", "--activation selective", "--compile aot_eager"])
def test_it_trains_as_one_device_does(torchao, argv):
    args = option_parser().parse_args(f"--mode single --float8 tensorwise {argv}".split())
    args.precision = "bf16"
    verdict = correctness.check(
        args, workload(args), Group(torch.device("cpu")), strategies.build, batch
    )
    assert verdict.ok, verdict.differences()
    assert verdict.precision == "fp64"
    assert verdict.in_own_types.precision == "bf16, float8 tensorwise"


def products(args):
    """The operations of matrix products and attention in a step."""
    strategy = strategies.build(args, workload(args), Group(torch.device("cpu")))
    with FlopCounterMode(display=False) as counter:
        strategy.forward_backward(batch(0, 0))
    return counter.get_total_flops()


def test_selected_blocks_in_fp8_are_computed_again_to_the_end(torchao):
    argv = "--mode single --float8 tensorwise --activation"
    noop = options(f"{argv} noop", precision="bf16")
    selective = options(f"{argv} selective", precision="bf16")
    again = products(selective) - products(noop)
    assert again == recomputed_flop(SHAPE, selective, 1, BATCH) - SHAPE.flop(BATCH)
    assert again == 2 * SHAPE.layers * BATCH * SHAPE.block * (1 + 4) * SHAPE.width**2


@pytest.mark.parametrize(
    ("capability", "sentence"),
    [((8, 0), "fp8 needs compute capability 8.9, cuda:0 has 8.0"), ((9, 0), "needs torchao (")],
)
def test_what_is_missing_is_one_sentence(gpu, monkeypatch, capability, sentence):
    gpu(*capability)
    monkeypatch.setitem(sys.modules, "torchao", None)
    with pytest.raises(SkippedError) as refusal:
        check("--mode ddp --float8 tensorwise")
    assert sentence in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_cpu_has_no_fp8():
    with pytest.raises(SkippedError, match="fp8 needs the matrix cores of a GPU: cpu has none"):
        check("--mode ddp --float8 rowwise", Group(torch.device("cpu")))


@pytest.mark.parametrize("precision", ["fp32", "fp16", "tf32", "amp-fp16"])
def test_it_is_for_what_computes_in_bf16(gpu, precision):
    gpu(9, 0)
    computed = {"amp-fp16": "fp16"}.get(precision, precision)
    with pytest.raises(UnsupportedError, match=f"bf16, and here they do in {computed}$"):
        check("--mode ddp --float8 tensorwise", precision=precision)


@pytest.mark.parametrize(
    ("argv", "precision"),
    [("ddp", "bf16"), ("hsdp", "amp"), ("fsdp --mixed-precision bf16", "fp32"), ("pdp", "bf16")],
)
def test_bf16_comes_in_three_ways(gpu, torchao, argv, precision):
    gpu(9, 0)
    check(f"--mode {argv} --float8 rowwise", Group(GPU.device, 0, 4), precision)


def test_a_model_without_such_a_layer_is_refused(gpu, torchao):
    gpu(9, 0)
    convolutions = partial(nn.Sequential, nn.Sequential(nn.Conv2d(3, 3, 1)))

    def change(asked):
        return replace(asked, make_model=convolutions, blocks=repeated_blocks)

    with pytest.raises(UnsupportedError, match="--float8 has nothing to do: no block has a"):
        check("--mode single --float8 tensorwise", change=change)
