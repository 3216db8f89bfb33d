"""The GPT of ptd_benchmark (minGPT's architecture), and what a Llama shares with it.

Pre-norm blocks of attention and a GELU perceptron of four times the width, learned positions, a
separate output projection (not tied to the embedding), no dropout: a rank draws no random numbers,
so that strategies can be compared exactly.
"""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    ParallelStyle,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
)
from torch.nn import functional

from benchmarks.common.precision import at_least_fp32
from benchmarks.gpt.shapes import Shape


class Attention(nn.Module):
    """Causal attention; each head of keys and values serves as many heads of queries."""

    def __init__(self, shape: Shape, *, bias: bool = True) -> None:
        super().__init__()
        self.head, self.shared = shape.head, shape.heads // shape.groups
        # The rows are ordered by group, then its queries, key, value: a shard has full groups.
        rows = shape.groups * (self.shared + 2) * shape.head
        self.qkv = nn.Linear(shape.width, rows, bias=bias)
        self.out = nn.Linear(shape.width, shape.width, bias=bias)

    def forward(self, x: Tensor, rotation: Tensor | None = None) -> Tensor:
        """Map (batch, tokens, width) to the same shape, with the heads that this rank has."""
        qkv = self.qkv(x).unflatten(-1, (-1, self.shared + 2, self.head))  # b, s, groups, .., d
        query, key, value = qkv.split((self.shared, 1, 1), dim=-2)
        if rotation is not None:
            query, key = rotate(query, rotation), rotate(key, rotation)
            value = value.contiguous()  # a view would keep all of qkv until the backward pass
        by_head = [x.flatten(2, 3).transpose(1, 2) for x in (query, key, value)]
        return self.out(causal_attention(*by_head).transpose(1, 2).flatten(-2))


def causal_attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Attention of (batch, heads, tokens, d); keys and values may have fewer heads."""
    shared = query.shape[1] // key.shape[1]
    # Kernels of CUDA for fp32 cannot share them: without a copy PyTorch would keep all scores.
    fused = query.element_size() == 2 or query.device.type != "cuda"
    if shared > 1 and not fused:
        key, value = key.repeat_interleave(shared, 1), value.repeat_interleave(shared, 1)
    return functional.scaled_dot_product_attention(
        query, key, value, is_causal=True, enable_gqa=shared > 1 and fused
    )


def rotate(x: Tensor, rotation: Tensor) -> Tensor:
    """Turn each pair (k, k + d/2) of the last dimension of (batch, tokens, .., .., d).

    ``rotation`` is that of ``llama.Rotation``: the cosines, and the sines with their signs.
    """
    cosines, sines = rotation[:, : x.shape[1], None, None].to(x.dtype)
    return torch.addcmul(x * cosines, x.roll(x.shape[-1] // 2, -1), sines)


class Block(nn.Module):
    """Attention and perceptron, each with a norm before it and its input added after it."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(shape.width), nn.LayerNorm(shape.width)
        self.attention = Attention(shape)
        self.up = nn.Linear(shape.width, 4 * shape.width)
        self.down = nn.Linear(4 * shape.width, shape.width)

    def forward(self, x: Tensor) -> Tensor:
        """Map (batch, tokens, width) to the same shape."""
        x = x + self.attention(self.norm1(x))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class Embedding(nn.Module):
    """The embedding of a token, plus that of its position."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.token = nn.Embedding(shape.vocabulary, shape.width)
        self.position = nn.Embedding(shape.block, shape.width)

    def forward(self, tokens: Tensor) -> Tensor:
        """Map (batch, tokens) to (batch, tokens, width)."""
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        return self.token(tokens) + self.position(positions)


class Head(nn.Module):
    """The last norm, and a score for each word of the vocabulary."""

    def __init__(self, shape: Shape, norm: nn.Module) -> None:
        super().__init__()
        self.norm = norm
        self.score = nn.Linear(shape.width, shape.vocabulary, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Map (batch, tokens, width) to (batch, tokens, vocabulary)."""
        return self.score(self.norm(x))


class GPT(nn.Module):
    """A GPT or a Llama, or one stage of it: parameters have the same names in both."""

    def __init__(
        self,
        embedding: nn.Module | None,
        blocks: Mapping[str, nn.Module],
        head: nn.Module | None,
        rotation: nn.Module | None = None,
    ) -> None:
        """Take the parts of a stage; only the first one embeds, only the last one has the head.

        ``rotation`` makes what each block takes beside its input.
        """
        super().__init__()
        self.embedding = embedding
        self.blocks = nn.ModuleDict(blocks)
        self.head = head
        self.rotation = rotation

    def forward(self, x: Tensor) -> Tensor:
        """Map tokens, or the previous stage's output, to scores, or to the next stage's input."""
        if self.embedding is not None:
            x = self.embedding(x)
        rotation = () if self.rotation is None else (self.rotation(x),)
        for block in self.blocks.values():
            x = block(x, *rotation)
        return x if self.head is None else self.head(x)


def make(shape: Shape) -> GPT:
    """A GPT whose values ``fill`` must set: the defaults of its layers are not those of GPT-2."""
    blocks = {str(k): Block(shape) for k in range(shape.layers)}
    return GPT(Embedding(shape), blocks, Head(shape, nn.LayerNorm(shape.width)))


def fill(name: str, parameter: Tensor, generator: torch.Generator) -> None:
    """Draw a parameter: matrices normal of deviation 0.02, as in GPT-2; norms 1, biases 0."""
    if name.endswith(".bias"):
        parameter.zero_()
    elif parameter.dim() == 1:
        parameter.fill_(1)
    else:
        parameter.normal_(std=0.02, generator=generator)


def blocks_of(model: nn.Module) -> Sequence[nn.Module]:
    """The blocks of a model or of a stage."""
    assert isinstance(model, GPT)
    return list(model.blocks.values())


def ends_of(model: nn.Module) -> Sequence[nn.Module]:
    """The embedding and the head, as far as a stage has them."""
    assert isinstance(model, GPT)
    return [end for end in (model.embedding, model.head) if end is not None]


def loss(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
    tokens, targets = batch
    return stage_loss(model(tokens), (tokens, targets))


def stage_loss(scores: Tensor, batch: tuple[Tensor, Tensor]) -> Tensor:
    """The mean cross entropy of the last stage's scores; reads only the targets of ``batch``."""
    mean = functional.cross_entropy(at_least_fp32(scores.flatten(0, 1)), batch[1].flatten())
    return mean.to_local() if isinstance(mean, DTensor) else mean


def tp_plan(model: nn.Module, *, sequence: bool) -> dict[str, ParallelStyle]:
    """Shards heads, hidden units of the perceptron and the vocabulary of the scores.

    ``sequence``: between those the tokens are sharded too, so that not every rank computes all
    norms and residuals (Korthikanti et al. 2022).
    """
    assert isinstance(model, GPT)
    between = Shard(1) if sequence else Replicate()
    plan: dict[str, ParallelStyle] = {}
    for name, block in model.blocks.items():
        at = f"blocks.{name}."
        plan[f"{at}attention.qkv"] = ColwiseParallel(input_layouts=between)
        plan[f"{at}attention.out"] = RowwiseParallel(output_layouts=between)
        for into in ("up", "gate") if hasattr(block, "gate") else ("up",):
            plan[f"{at}{into}"] = ColwiseParallel(input_layouts=between)
        plan[f"{at}down"] = RowwiseParallel(output_layouts=between)
        if sequence:
            plan[f"{at}norm1"] = plan[f"{at}norm2"] = SequenceParallel()
    if sequence:
        plan["embedding"] = PrepareModuleOutput(
            output_layouts=Replicate(), desired_output_layouts=Shard(1)
        )
        plan["head.norm"] = SequenceParallel()
    plan["head.score"] = ColwiseParallel(input_layouts=between, use_local_output=False)
    return plan
