"""What becomes of activations changes what is kept, and never what is computed."""

import pytest
import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.common.strategies import compiling, parameters
from benchmarks.common.strategies.activations import wrap_blocks
from benchmarks.common.strategies.parameters import plain_name
from benchmarks.gpt import llama
from benchmarks.gpt import model as gpt

SHAPE = gpt.Shape(layers=3, heads=4, width=32, vocabulary=64, block=16)
LLAMA = llama.Llama(layers=3, heads=4, width=32, vocabulary=64, block=16, groups=2, hidden=64)
CPU = torch.device("cpu")


def model(how, every=1, shape=SHAPE):
    make = llama.make if isinstance(shape, llama.Llama) else gpt.make
    made = make(shape).to("meta")
    parameters.fill(made, made, gpt.fill, CPU, seed=0)
    wrap_blocks(made, gpt.blocks_of(made), how, every)
    return made


def trained(made):
    """The loss and the gradients of a batch, how often a block ran, how many bytes were kept."""
    calls, kept = [], []
    for block in gpt.blocks_of(made):
        inner = getattr(block, "_checkpoint_wrapped_module", block)
        inner.register_forward_pre_hook(lambda *_: calls.append(1))
    words = torch.randint(64, (2, 17), generator=torch.Generator().manual_seed(0))
    with saved_tensors_hooks(lambda x: kept.append(x.nbytes) or x, lambda x: x):
        loss = gpt.loss(made, (words[:, :-1], words[:, 1:]))
    loss.backward()
    gradients = {plain_name(name): p.grad for name, p in made.named_parameters()}
    return loss.detach(), gradients, len(calls), sum(kept)


@pytest.mark.filterwarnings("ignore:A saved_tensors_hooks context")  # the count of this test
@pytest.mark.parametrize(
    ("how", "runs"), [("noop", 1), ("checkpoint", 2), ("selective", 2), ("offload", 1)]
)
@pytest.mark.parametrize("shape", [SHAPE, LLAMA])
def test_the_gradients_are_the_same(how, runs, shape):
    loss, gradients, _, kept = trained(model("noop", shape=shape))
    loss_too, gradients_too, calls, kept_too = trained(model(how, shape=shape))
    assert torch.equal(loss, loss_too)
    assert gradients.keys() == gradients_too.keys()
    assert all(torch.equal(gradients[name], gradients_too[name]) for name in gradients)
    assert calls == runs * SHAPE.layers
    # All keep the ends: the embedding's words, and the scores.
    assert kept_too == kept if how == "noop" else kept_too < 0.3 * kept


@pytest.mark.parametrize(("every", "again"), [(1, "012"), (2, "1"), (3, "2")])
def test_every_nth_block_is_computed_again(every, again):
    loss, gradients, _, kept = trained(model("noop"))
    made = model("checkpoint", every)
    wrapped = [hasattr(block, "_checkpoint_wrapped_module") for block in gpt.blocks_of(made)]
    assert [k for k in range(3) if wrapped[k]] == list(map(int, again))
    loss_too, gradients_too, calls, kept_too = trained(made)
    assert torch.equal(loss, loss_too)
    assert all(torch.equal(gradients[name], gradients_too[name]) for name in gradients)
    assert calls == SHAPE.layers + len(again)
    # A wrapped block keeps its input alone; the others keep as much as ever.
    of_a_block = (kept - trained(model("checkpoint"))[3]) / SHAPE.layers
    assert kept - kept_too == pytest.approx(len(again) * of_a_block, rel=1e-9)


def test_only_the_blocks_are_wrapped():
    made = gpt.make(SHAPE)
    blocks = gpt.blocks_of(made)
    wrap_blocks(made, blocks[:1], "checkpoint")
    wrapped, second, third = gpt.blocks_of(made)
    assert wrapped is not blocks[0]
    assert wrapped._checkpoint_wrapped_module is blocks[0]
    assert (second, third) == tuple(blocks[1:])


def operations(how, every=1):
    """The operations of matrix products and attention in a step."""
    made, words = model(how, every), torch.zeros(2, 16, dtype=torch.long)
    with FlopCounterMode(display=False) as counter:
        gpt.loss(made, (words, words)).backward()
    return counter.get_total_flops()


class Ran(TorchDispatchMode):
    """The operations that run, in order."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(func.__name__)
        return func(*args, **kwargs or {})


def test_selective_computes_again_what_torchtitan_does():
    """Of seven products of a block two; neither attention nor the largest value, of fp8's scale."""

    class Scaled(torch.nn.Linear):
        def forward(self, x):
            return super().forward(x / x.abs().max())

    runs = {}
    for how in ("noop", "selective", "checkpoint"):
        block = llama.Block(LLAMA)
        block.down = Scaled(64, 32, bias=False)
        block.input = torch.nn.Identity()
        made = torch.nn.ModuleDict({"block": block})
        wrap_blocks(made, [block], how)
        rotation = llama.Rotation(LLAMA)(torch.zeros(1))
        with Ran() as ran:
            made["block"](torch.randn(2, 16, 32), rotation).sum().backward()
        runs[how] = {name: ran.names.count(name) for name in set(ran.names)}
    kept = {name for name in runs["checkpoint"] if "max" in name or "dot_product" in name}
    again = {name: runs["selective"][name] - runs["noop"][name] for name in (*kept, "mm.default")}
    assert again == dict.fromkeys(kept, 0) | {"mm.default": 2}
    for name in (*kept, "mm.default"):
        assert runs["checkpoint"][name] > runs["noop"][name] or "backward" in name


def test_selective_computes_every_other_product_again():
    again = SHAPE.flop(2, activation="selective") - SHAPE.flop(2)
    assert again == 2 * SHAPE.layers * 2 * 16 * 32 * 32  # the attention's output
    assert operations("selective") - operations("noop") == again


@pytest.mark.parametrize(("how", "every", "wrapped"), [("checkpoint", 2, 1), ("selective", 3, 1)])
def test_the_operations_of_every_nth_block(how, every, wrapped):
    again = SHAPE.flop(2, activation=how, wrapped=wrapped) - SHAPE.flop(2)
    assert again == pytest.approx((SHAPE.flop(2, activation=how) - SHAPE.flop(2)) / 3)
    assert operations(how, every) - operations("noop") == pytest.approx(
        (operations(how) - operations("noop")) / 3
    )


@pytest.mark.filterwarnings("ignore:A saved_tensors_hooks context")
@pytest.mark.parametrize("how", ["checkpoint", "selective"])
@pytest.mark.parametrize("drawn", [False, True])
def test_the_generator_is_restored_for_dropout_alone(monkeypatch, how, drawn):
    made = gpt.make(SHAPE).to("meta")
    parameters.fill(made, made, gpt.fill, CPU, seed=0)
    blocks = gpt.blocks_of(made)
    if drawn:
        blocks[0].attention.register_module("dropout", torch.nn.Dropout(0.1))
    wrap_blocks(made, blocks, how)
    read, calls = torch.get_rng_state, []
    monkeypatch.setattr(torch, "get_rng_state", lambda: calls.append(1) or read())
    trained(made)
    assert bool(calls) == drawn


def kept_when_compiled(how):
    """The loss, the gradients, and the bytes that a compiled forward pass keeps for the backward.

    The graph is cut in two as for inductor, with its decompositions; but nothing is generated.
    """
    made = model(how)
    made.compile(backend="aot_eager_decomp_partition")
    words = torch.randint(64, (2, 17), generator=torch.Generator().manual_seed(0))
    loss = gpt.loss(made, (words[:, :-1], words[:, 1:]))
    storages = {parameter.untyped_storage().data_ptr() for parameter in made.parameters()}
    kept, nodes = 0, [loss.grad_fn]
    while nodes:
        node = nodes.pop()
        nodes += [following for following, _ in node.next_functions if following is not None]
        for tensor in getattr(node, "saved_tensors", ()):
            storage = tensor.untyped_storage()
            kept += storage.nbytes() * (storage.data_ptr() not in storages)
            storages.add(storage.data_ptr())
    loss.backward()
    return loss.detach(), {plain_name(name): p.grad for name, p in made.named_parameters()}, kept


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # of torch 2.11's own
def test_a_compiled_block_keeps_what_was_selected():
    loss, gradients, *_ = trained(model("noop"))
    kept = []
    for how in ("selective", "noop"):
        compiling.forget()
        loss_too, gradients_too, bytes_ = kept_when_compiled(how)
        kept.append(bytes_)
        assert torch.allclose(loss_too, loss)
        for name, gradient in gradients.items():
            assert torch.allclose(gradients_too[name], gradient, rtol=1e-4, atol=1e-7), name
    compiling.forget()
    selected, all_of_it = kept
    assert 0.4 * all_of_it < selected < 0.7 * all_of_it
