"""Parameters, operations and activations of the formulas, against the models themselves."""

from dataclasses import replace

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.gpt import llama
from benchmarks.gpt import model as gpt
from benchmarks.gpt.shapes import SHAPES, Llama, shape_of

SMALL = [shape_of("GPTTiny", 96, 24), Llama(3, 6, 48, 96, 24, groups=2, hidden=80)]


def make(shape):
    return llama.make(shape) if isinstance(shape, Llama) else gpt.make(shape)


@pytest.mark.parametrize(
    ("name", "billions"),
    # Llama: those of the model cards, which count 1.24 for 1B because its ends are tied.
    [
        ("GPTSmall", 0.09),
        ("GPT1B", 1.22),
        ("GPTXXXL", 6.5),
        ("GPT175B", 174.0),
        ("GPT1T", 1007.0),
        ("llama3-1b", 1.2358 + 128256 * 2048 / 1e9),
        ("llama3-8b", 8.0303),
        ("llama3-70b", 70.554),
    ],
)
def test_sizes(name, billions):
    vocabulary = 3072 if name.startswith("GPT") else None
    assert shape_of(name, vocabulary).parameters / 1e9 == pytest.approx(billions, rel=0.01)
    if vocabulary is None:
        assert shape_of(name).parameters / 1e9 == pytest.approx(billions, rel=1e-4)


def test_names_have_their_own_vocabulary_and_tokens():
    assert (shape_of("GPTSmall").vocabulary, shape_of("GPTSmall").block) == (3072, 128)
    assert (shape_of("llama3-8b").vocabulary, shape_of("llama3-8b").block) == (128256, 8192)
    assert shape_of("llama3-8b", 7, 9) == Llama(32, 32, 4096, 7, 9, groups=8, hidden=14336)


@pytest.mark.parametrize("shape", SMALL)
def test_parameters_are_those_of_the_formula(shape):
    model = make(shape)
    assert sum(p.numel() for p in model.parameters()) == shape.parameters
    for block in gpt.blocks_of(model):
        assert sum(p.numel() for p in block.parameters()) == shape.block_parameters


@pytest.mark.parametrize(
    "shape",
    [
        shape_of("GPTSmall", 3072, 128),
        shape_of("llama3-1b", block=2048),
        replace(shape_of("llama3-8b", block=8192), layers=3),  # the others, of all layers
        replace(shape_of("llama3-70b", block=4096), layers=3),
        Llama(2, 8, 64, 100, 16, groups=8, hidden=96),  # each query has its own key
    ],
)
def test_operations_are_those_that_are_counted(shape):
    with torch.device("meta"):
        model = make(shape)
        tokens = torch.zeros(2, shape.block, dtype=torch.long)
        with FlopCounterMode(display=False) as counter:
            gpt.loss(model, (tokens, tokens)).backward()
    assert shape.flop(2) == pytest.approx(counter.get_total_flops(), rel=1e-3)


def test_operations_are_those_of_the_papers():
    shape = SHAPES["GPTXL"]
    s, h, v, layers = shape.block, shape.width, shape.vocabulary, shape.layers
    body = 7 * s * layers * h**2 * (1 + s / (6 * h))
    head = 7 * s * h * v
    assert shape.flop(7) == pytest.approx(72 * body + 6 * head, rel=1e-12)
    assert shape.flop(7, activation="checkpoint") == pytest.approx(96 * body + 6 * head, rel=1e-12)
    # torchtitan: for each token 6 (N - N_embedding) + 12 l heads d s.
    shape = SHAPES["llama3-8b"]
    weights = shape.parameters - shape.end_parameters[0]
    theirs = 8192 * (6 * weights + 12 * 32 * 32 * 128 * 8192)
    assert shape.flop(1) == pytest.approx(theirs, rel=1e-4)  # they count the norms


@pytest.mark.parametrize("shape", SMALL)
def test_activations_are_those_that_are_saved(shape):
    model, tokens = make(shape), 4 * shape.block
    block = gpt.blocks_of(model)[0]
    known = {p.untyped_storage().data_ptr() for p in block.parameters()}
    x = torch.randn(4, shape.block, shape.width, requires_grad=True)
    rotation = () if model.rotation is None else (model.rotation(x),)
    known |= {tensor.untyped_storage().data_ptr() for tensor in rotation}
    kept = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in known:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        block(x, *rotation).sum().backward()
    # Beside them statistics of the norms and of the softmax: a number for each token (and head).
    statistics = tokens * (4 + shape.heads)
    formula = tokens * sum(shape.block_activations)
    if isinstance(shape, Llama):  # CPUs have no kernel for RMSNorm: x / rms is kept as well
        formula += 2 * tokens * shape.width
    assert formula <= sum(kept.values()) / 4 <= formula + statistics


@pytest.mark.parametrize("name", SHAPES)
def test_the_checked_shape_keeps_what_ranks_share(name):
    shape, narrow = SHAPES[name], SHAPES[name].narrow(32)
    assert (narrow.layers, narrow.heads, narrow.groups) == (
        shape.layers,
        shape.heads,
        shape.groups,
    )
    assert narrow.width % narrow.heads == 0
    assert narrow.width <= 512
    assert narrow.vocabulary <= 3072
    assert narrow.block == 32
    assert narrow.hidden == 4 * narrow.width or narrow.hidden == shape.hidden


def test_shards_of_tensor_parallelism():
    shape = SHAPES["llama3-8b"]
    embedding, _ = shape.end_parameters
    norms = 2 * shape.layers * shape.width + shape.width
    sharded = shape.parameters - embedding - norms
    assert shape.shard_parameters(8) == sharded // 8 + embedding + norms
    assert shape.shard_parameters(1) == shape.parameters
