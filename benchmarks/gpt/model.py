"""The GPT of ptd_benchmark (minGPT's architecture), in its sizes from 125 million to 10^12.

Pre-norm blocks of attention and a GELU perceptron of four times the width, learned positions, an
separate output projection (not tied to the embedding), no dropout: a rank draws no random numbers,
so that strategies can be compared exactly.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    ParallelStyle,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
)
from torch.nn import functional

from benchmarks.common.precision import at_least_fp32


@dataclass(frozen=True)
class Shape:
    """The size of a GPT."""

    layers: int
    heads: int
    width: int
    vocabulary: int = 3072
    block: int = 128  # tokens of a sequence

    @property
    def block_parameters(self) -> int:
        """12 h^2 + 13 h: four h^2 of attention, eight of the perceptron, biases and norms."""
        return 12 * self.width**2 + 13 * self.width

    @property
    def end_parameters(self) -> tuple[int, int]:
        """(V + s) h of the embedding, (V + 2) h of the head and its norm."""
        return (self.vocabulary + self.block) * self.width, (self.vocabulary + 2) * self.width

    @property
    def parameters(self) -> int:
        """The parameters of the full model."""
        return self.layers * self.block_parameters + sum(self.end_parameters)

    def shard_parameters(self, ranks: int) -> int:
        """Parameters on one of ``ranks`` under ``tp_plan``.

        Of a block 12 h^2 + 7 h are sharded, and the scores' V h; norms (4 h), biases that are added
        to a sum over the ranks (2 h), the head's norm (2 h) and the embedding are on every rank.
        """
        h = self.width
        block = (12 * h * h + 7 * h) // ranks + 6 * h
        head = self.vocabulary * h // ranks + 2 * h
        return self.layers * block + self.end_parameters[0] + head

    def flop(self, batch: int, *, recomputed: bool = False) -> float:
        """Operations of one step on ``batch`` sequences, forward and backward.

        72 B s l h^2 (1 + s/(6h) + V/(12 l h)): the backward pass takes twice the 24 B s l h^2 (..)
        of the forward pass (Narayanan et al. 2021, "Efficient Large-Scale Language Model
        Training", appendix). ``recomputed``: with a second forward pass of the blocks, as under
        full activation checkpointing: 96 B s l h^2 (1 + s/(6h) + V/(16 l h)).
        """
        h, s, v = self.width, self.block, self.vocabulary
        factor, head = (96, 16) if recomputed else (72, 12)
        body = factor * batch * s * self.layers * h * h
        return body * (1 + s / (6 * h) + v / (head * self.layers * h))


# Names, layers, heads and width are ptd_benchmark's.
SHAPES: Mapping[str, tuple[int, int, int]] = {
    "GPTSmall": (12, 12, 768),
    "GPTMedium": (24, 16, 1024),
    "GPTLarge": (24, 16, 1536),
    "GPTXL": (24, 24, 2064),
    "GPTXXL": (32, 32, 2560),
    "GPTXXXL": (32, 32, 4096),
    "GPT13B": (48, 48, 5184),
    "GPT39B": (48, 64, 7680),
    "GPT76B": (64, 80, 10240),
    "GPT175B": (96, 96, 12288),
    "GPT1T": (128, 128, 25600),
    # Not in ptd_benchmark: it trains in milliseconds on a CPU.
    "GPTTiny": (8, 4, 64),
}


class Attention(nn.Module):
    """Causal attention of several heads."""

    def __init__(self, shape: Shape) -> None:
        """Make the projections."""
        super().__init__()
        self.head = shape.width // shape.heads
        # The rows are ordered by head, then query, key, value: a shard of rows has full heads.
        self.qkv = nn.Linear(shape.width, 3 * shape.width)
        self.out = nn.Linear(shape.width, shape.width)

    def forward(self, x: Tensor) -> Tensor:
        """Map (batch, tokens, width) to the same shape, with the heads that this rank has."""
        qkv = self.qkv(x).unflatten(-1, (-1, 3, self.head)).transpose(1, 2)  # b, heads, s, 3, d
        query, key, value = qkv.unbind(-2)
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.out(seen.transpose(1, 2).flatten(-2))


class Block(nn.Module):
    """Attention and perceptron, each with a norm before it and its input added after it."""

    def __init__(self, shape: Shape) -> None:
        """Make the layers."""
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
        """Make both tables."""
        super().__init__()
        self.token = nn.Embedding(shape.vocabulary, shape.width)
        self.position = nn.Embedding(shape.block, shape.width)

    def forward(self, tokens: Tensor) -> Tensor:
        """Map (batch, tokens) to (batch, tokens, width)."""
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        return self.token(tokens) + self.position(positions)


class Head(nn.Module):
    """The last norm, and a score for each word of the vocabulary."""

    def __init__(self, shape: Shape) -> None:
        """Make the layers."""
        super().__init__()
        self.norm = nn.LayerNorm(shape.width)
        self.score = nn.Linear(shape.width, shape.vocabulary, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Map (batch, tokens, width) to (batch, tokens, vocabulary)."""
        return self.score(self.norm(x))


class GPT(nn.Module):
    """A GPT, or one stage of it: parameters have the same names in both."""

    def __init__(
        self, embedding: nn.Module | None, blocks: Mapping[str, nn.Module], head: nn.Module | None
    ) -> None:
        """Take the parts of a stage; only the first one embeds, only the last one has the head."""
        super().__init__()
        self.embedding = embedding
        self.blocks = nn.ModuleDict(blocks)
        self.head = head

    def forward(self, x: Tensor) -> Tensor:
        """Map tokens, or the previous stage's output, to scores, or to the next stage's input."""
        if self.embedding is not None:
            x = self.embedding(x)
        for block in self.blocks.values():
            x = block(x)
        return x if self.head is None else self.head(x)


def shape_of(name: str, vocabulary: int, block: int) -> Shape:
    """The shape of a named size."""
    return Shape(*SHAPES[name], vocabulary, block)


def make(shape: Shape) -> GPT:
    """A GPT whose values ``fill`` must set: the defaults of its layers are not those of GPT-2."""
    blocks = {str(k): Block(shape) for k in range(shape.layers)}
    return GPT(Embedding(shape), blocks, Head(shape))


def fill(name: str, parameter: Tensor, generator: torch.Generator) -> None:
    """Draw a parameter: matrices normal of deviation 0.02, as in GPT-2; norms 1, biases 0."""
    if name.endswith(".bias"):
        parameter.zero_()
    elif parameter.dim() == 1:
        parameter.fill_(1)
    else:
        parameter.normal_(std=0.02, generator=generator)


def blocks_of(model: nn.Module) -> Sequence[nn.Module]:
    """The blocks of a GPT or of a stage."""
    assert isinstance(model, GPT)
    return list(model.blocks.values())


def loss(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
    """The mean cross entropy of the next token."""
    tokens, targets = batch
    return stage_loss(model(tokens), (tokens, targets))


def stage_loss(scores: Tensor, batch: tuple[Tensor, Tensor]) -> Tensor:
    """The mean cross entropy of the last stage's scores; reads only the targets of ``batch``."""
    return functional.cross_entropy(at_least_fp32(scores.flatten(0, 1)), batch[1].flatten())


def tp_plan(model: nn.Module, *, sequence: bool) -> dict[str, ParallelStyle]:
    """Shards heads, hidden units of the perceptron and the vocabulary of the scores.

    ``sequence``: between those the tokens are sharded too, so that not every rank computes all
    norms and residuals (Korthikanti et al. 2022).
    """
    assert isinstance(model, GPT)
    between = Shard(1) if sequence else Replicate()
    plan: dict[str, ParallelStyle] = {}
    for name in model.blocks:
        at = f"blocks.{name}."
        plan[f"{at}attention.qkv"] = ColwiseParallel(input_layouts=between)
        plan[f"{at}attention.out"] = RowwiseParallel(output_layouts=between)
        plan[f"{at}up"] = ColwiseParallel(input_layouts=between)
        plan[f"{at}down"] = RowwiseParallel(output_layouts=between)
        if sequence:
            plan[f"{at}norm1"] = plan[f"{at}norm2"] = SequenceParallel()
    if sequence:
        plan["embedding"] = PrepareModuleOutput(
            output_layouts=Replicate(), desired_output_layouts=Shard(1)
        )
        plan["head.norm"] = SequenceParallel()
    plan["head.score"] = ColwiseParallel(input_layouts=between, output_layouts=Replicate())
    return plan
