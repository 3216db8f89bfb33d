"""The Llama, against that of transformers with the same weights."""

import pytest
import torch

from benchmarks.gpt import llama, stages
from benchmarks.gpt import model as gpt
from benchmarks.gpt.shapes import SHAPES, Llama

SHAPE = Llama(3, 8, 64, 96, 24, groups=2, hidden=80)


@pytest.fixture
def ours():
    torch.manual_seed(0)
    return llama.make(SHAPE).double()


def theirs(model):
    """The ``LlamaForCausalLM`` with the weights of ``model``."""
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        vocab_size=SHAPE.vocabulary,
        hidden_size=SHAPE.width,
        intermediate_size=SHAPE.hidden,
        num_hidden_layers=SHAPE.layers,
        num_attention_heads=SHAPE.heads,
        num_key_value_heads=SHAPE.groups,
        max_position_embeddings=SHAPE.block,
        rms_norm_eps=1e-5,
        rope_theta=500_000.0,
        rope_parameters={"rope_type": "default", "rope_theta": 500_000.0},
        tie_word_embeddings=False,
        use_cache=False,
    )
    made = transformers.LlamaForCausalLM(config).double()
    names = {
        "model.embed_tokens": model.embedding,
        "model.norm": model.head.norm,
        "lm_head": model.head.score,
    }
    for k, block in model.blocks.items():
        at = f"model.layers.{k}."
        names |= {
            f"{at}input_layernorm": block.norm1,
            f"{at}post_attention_layernorm": block.norm2,
            f"{at}self_attn.o_proj": block.attention.out,
            f"{at}mlp.gate_proj": block.gate,
            f"{at}mlp.up_proj": block.up,
            f"{at}mlp.down_proj": block.down,
        }
    weights = {f"{name}.weight": module.weight for name, module in names.items()}
    for k, block in model.blocks.items():
        # Rows by group, then its queries, key, value.
        rows = block.attention.qkv.weight.unflatten(0, (SHAPE.groups, -1, SHAPE.head))
        query, key, value = rows.split((SHAPE.heads // SHAPE.groups, 1, 1), dim=1)
        for name, part in (("q", query), ("k", key), ("v", value)):
            weights[f"model.layers.{k}.self_attn.{name}_proj.weight"] = part.flatten(0, 2)
    made.load_state_dict(weights, strict=True)
    return made


def test_scores_are_those_of_transformers(ours):
    with torch.no_grad():
        for parameter in ours.parameters():
            drawn = torch.randn_like(parameter)
            matrix = parameter.dim() == 2
            parameter.copy_(drawn / parameter.shape[1] ** 0.5 if matrix else 1 + drawn / 4)
    tokens = torch.randint(SHAPE.vocabulary, (2, SHAPE.block))
    expected = theirs(ours)(input_ids=tokens).logits.detach()
    found = ours(tokens).detach()
    assert found.std() > 0.3
    # Its norms and angles compute in fp32.
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6 * float(expected.std()))


def test_no_token_sees_what_follows(ours):
    tokens = torch.randint(SHAPE.vocabulary, (1, SHAPE.block))
    other = tokens.clone()
    other[0, -1] = (other[0, -1] + 1) % SHAPE.vocabulary
    before, after = ours(tokens), ours(other)
    assert torch.equal(before[:, :-1], after[:, :-1])
    assert not torch.equal(before[:, -1], after[:, -1])


def test_attention_depends_on_distances_alone():
    rotation = llama.Rotation(SHAPE)(torch.zeros(1, dtype=torch.float64))
    query, key = torch.randn(2, 1, SHAPE.block, 1, 1, SHAPE.head, dtype=torch.float64)
    query, key = query[:, :1].expand_as(query), key[:, :1].expand_as(key)  # at every place
    turned = [gpt.rotate(x, rotation).flatten(0, -2) for x in (query, key)]
    products = torch.einsum("sd,td->st", *turned)
    for distance in range(SHAPE.block):
        same = products.diagonal(distance)
        torch.testing.assert_close(same, same[:1].expand_as(same), rtol=1e-5, atol=1e-5)
    assert products[0].std() > 0.1


@pytest.mark.parametrize("groups", [1, 2, 8])
def test_keys_that_are_copied_give_the_same(groups):
    query = torch.randn(2, 8, 5, 4, dtype=torch.float64)
    key, value = torch.randn(2, 2, groups, 5, 4, dtype=torch.float64)
    copies = [x.repeat_interleave(8 // groups, 1) for x in (key, value)]
    expected = torch.nn.functional.scaled_dot_product_attention(query, *copies, is_causal=True)
    torch.testing.assert_close(gpt.causal_attention(query, key, value), expected)


def test_stages_are_the_model(ours):
    tokens = torch.randint(SHAPE.vocabulary, (2, SHAPE.block))
    expected = ours(tokens)
    x = tokens
    for stage in stages.stages(ours, 5):
        x = stage(x)
    assert torch.equal(x, expected)


def test_heads_are_of_an_even_width():
    assert all(s.head % 2 == 0 for s in SHAPES.values() if isinstance(s, Llama))
