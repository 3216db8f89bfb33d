import pytest
import torch

from benchmarks.common.failure import UnsupportedError
from benchmarks.transformers import models
from tests.support.programs import program

transformers = program("transformers")


def args_of(*argv):
    return transformers.options().parse_args(argv)


@pytest.mark.parametrize(
    ("name", "millions"),  # as published, of BERT and T5 by torchbench's classes
    [
        ("hf_Bert", 109.5), ("hf_Bert_large", 335.2), ("hf_GPT2", 124.4), ("hf_GPT2_large", 774.0),
        ("hf_T5", 60.5), ("hf_T5_large", 737.7), ("hf_ViT_large", 1012.0),
    ],
)  # fmt: skip
def test_the_models_have_their_published_sizes(name, millions):
    args = args_of("--model", name, "--mode", "single")
    work = transformers.make_workload(args, transformers.make_size(args))
    assert models.parameters(work) / 1e6 == pytest.approx(millions, rel=2e-3)


def test_a_tiny_shape_keeps_its_family():
    for name, shape in models.SIZES.items():
        tiny = shape.sized(tiny=True, layers=2)
        assert (tiny.family, tiny.layers, tiny.width) == (shape.family, 2, 128), name
        assert tiny.length == (56 if shape.family == "vit" else 32)
        assert shape.sized() == shape


def test_items_of_a_batch_are_tokens_or_images():
    bert, vit = models.SIZES["hf_Bert"], models.SIZES["hf_ViT_large"]
    assert (bert.items(2), bert.units) == (2 * 512, "tokens")
    assert (vit.items(2), vit.units) == (2, "images")
    assert bert.sized(tokens=64).items(2) == 128
    with pytest.raises(UnsupportedError, match="--tokens is for models of text"):
        vit.sized(tokens=64)


def test_the_operations_of_a_step_grow_with_the_batch():
    for shape in models.SIZES.values():
        assert shape.flop(4) == pytest.approx(2 * shape.flop(2))


def test_the_decoder_of_t5_never_sees_the_token_that_it_predicts():
    torch.manual_seed(0)
    shape = models.SIZES["hf_T5"].sized(tiny=True, layers=1)
    model = models.make(shape).eval()
    seen = {}
    inner = model.forward

    def forward(**inputs):
        seen.update(inputs)
        return inner(**inputs)

    model.forward = forward
    inputs, targets = torch.tensor([[5, 6, 7]]), torch.tensor([[1, 2, 3]])
    assert float(models.t5_loss(model, (inputs, targets)).detach()) > 0
    assert seen["decoder_input_ids"].tolist() == [[0, 1, 2]]


def test_a_loss_is_the_mean_cross_entropy_of_the_targets():
    scores = torch.zeros(2, 3, 4)
    scores[0, 0, 1] = 100.0  # sure, and right
    targets = torch.ones(2, 3, dtype=torch.long)
    loss = models.score_loss(scores, (None, targets))
    assert float(loss) == pytest.approx(5 / 6 * float(torch.log(torch.tensor(4.0))))


@pytest.mark.parametrize("name", models.SIZES)
def test_a_narrow_size_has_all_layers_and_heads(name):
    size = models.SIZES[name]
    narrow, tiny = size.narrow(), size.sized(tiny=True)
    assert (narrow.layers, narrow.heads) == (size.layers, size.heads)
    assert narrow.width == 32 * size.heads <= 640
    assert narrow.hidden == 4 * narrow.width
    assert narrow.length in (32, 4 * models.PATCH)
    assert tiny.narrow() == tiny


class Attention(torch.overrides.TorchFunctionMode):
    """Whether each call of SDPA has a mask, and whether it is causal."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function is torch.nn.functional.scaled_dot_product_attention:
            self.calls.append(masked_and_causal(kwargs))
        return function(*args, **(kwargs or {}))


def masked_and_causal(options):
    return options["attn_mask"] is not None, bool(options["is_causal"])


@pytest.mark.parametrize(
    ("name", "masked", "causal"),
    [
        ("hf_Bert", {False}, {False}),
        ("hf_GPT2", {False}, {True}),
        ("hf_T5", {True, False}, {False}),  # its masks hold the biases of positions
        ("hf_ViT_large", {False}, {False}),
    ],
)
def test_attention_is_the_same_eager_and_compiled(name, masked, causal):
    size = models.SIZES[name].sized(tiny=True, layers=2)
    samples = models.samples(size, 2, seed=0)
    batch = [torch.stack([samples[0][k], samples[1][k]]) for k in range(2)]
    loss = models.t5_loss if size.family == "t5" else models.loss
    model, compiled = models.make(size), []
    with Attention() as eager:
        loss(model, batch)

    def backend(graph, inputs):
        for node in graph.graph.nodes:
            if node.target is torch.nn.functional.scaled_dot_product_attention:
                compiled.append(masked_and_causal(node.kwargs))
        return graph.forward

    model.compile(backend=backend)
    loss(model, batch)
    assert compiled == eager.calls
    assert {mask for mask, _ in compiled} <= masked
    assert {is_causal for _, is_causal in compiled} == causal
