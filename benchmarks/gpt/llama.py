"""Llama 3 (Dubey et al. 2024), with the parts of the GPT that it shares.

Pre-norm blocks (RMSNorm) of attention with grouped queries and rotary positions, and of SwiGLU; no
biases, no dropout. Two things differ from the models of the same names. The scores have a matrix
of their own in each size, as in torchtitan, because a pipeline has the two ends on different ranks:
Llama 3.2 1B ties it to the embedding, and has 1.24e9 parameters instead of 1.50e9. And the angles
are not scaled for more than 8,192 tokens, which would be other values and no other work.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.gpt.model import GPT, Attention, Head
from benchmarks.gpt.shapes import Llama

EPSILON, BASE = 1e-5, 500_000.0  # of the norms, of the angles


class Block(nn.Module):
    """Attention and SwiGLU, each with a norm before it and its input added after it."""

    def __init__(self, shape: Llama) -> None:
        super().__init__()
        self.norm1, self.norm2 = _norm(shape), _norm(shape)
        self.attention = Attention(shape, bias=False)
        self.gate = nn.Linear(shape.width, shape.hidden, bias=False)
        self.up = nn.Linear(shape.width, shape.hidden, bias=False)
        self.down = nn.Linear(shape.hidden, shape.width, bias=False)

    def forward(self, x: Tensor, rotation: Tensor) -> Tensor:
        """Map (batch, tokens, width) to the same shape."""
        x = x + self.attention(self.norm1(x), rotation)
        read = self.norm2(x)
        return x + self.down(functional.silu(self.gate(read)) * self.up(read))


class Rotation(nn.Module):
    """The rotary positions (Su et al. 2021), made once for all blocks of a forward pass.

    Not a buffer, which would have to be filled on each rank after the model was built without
    memory. The pairs are (k, k + d/2), as in transformers; Meta's code turns (2k, 2k + 1), which is
    the same with the rows of the projections in another order.
    """

    def __init__(self, shape: Llama) -> None:
        super().__init__()
        self._tokens, self._head = shape.block, shape.head

    def forward(self, x: Tensor) -> Tensor:
        """(2, tokens, d): cosines and signed sines in fp32, then in the type of ``x``."""
        half = torch.arange(self._head // 2, device=x.device, dtype=torch.float32)
        positions = torch.arange(self._tokens, device=x.device, dtype=torch.float32)
        angles = positions[:, None] / BASE ** (2 * half / self._head)
        cosines, sines = angles.cos(), angles.sin()
        table = torch.stack([torch.cat([cosines, cosines], -1), torch.cat([-sines, sines], -1)])
        return table.to(x.dtype)


def make(shape: Llama) -> GPT:
    """A Llama whose values ``model.fill`` must set."""
    blocks = {str(k): Block(shape) for k in range(shape.layers)}
    embedding = nn.Embedding(shape.vocabulary, shape.width)
    return GPT(embedding, blocks, Head(shape, _norm(shape)), Rotation(shape))


def _norm(shape: Llama) -> nn.RMSNorm:
    return nn.RMSNorm(shape.width, EPSILON)
