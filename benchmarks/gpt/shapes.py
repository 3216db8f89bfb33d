"""The sizes of the models: parameters, operations and activations, by formula."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

CHECKED_WIDTH, CHECKED_TOKENS, CHECKED_VOCABULARY = 512, 32, 3072  # at most, in the check


@dataclass(frozen=True)
class Shape:
    """The size of a GPT of ptd_benchmark."""

    layers: int
    heads: int
    width: int
    vocabulary: int = 3072
    block: int = 128  # tokens of a sequence

    @property
    def groups(self) -> int:
        """Heads of keys and values; each is shared by ``heads / groups`` heads of queries."""
        return self.heads

    @property
    def head(self) -> int:
        return self.width // self.heads

    @property
    def hidden(self) -> int:
        return 4 * self.width

    @property
    def matrix_sizes(self) -> tuple[int, ...]:
        """Of qkv 3 h^2, of the attention's output h^2, of the perceptron twice 4 h^2."""
        return 3 * self.width**2, self.width**2, 4 * self.width**2, 4 * self.width**2

    @property
    def block_matrices(self) -> int:
        """The weights in the matrices of a block: 12 h^2."""
        return sum(self.matrix_sizes)

    @property
    def block_vectors(self) -> tuple[int, int]:
        """7 h of biases that tensor parallelism shards, 6 h that every rank has.

        The latter are the norms (4 h), and biases that are added to a sum over the ranks (2 h).
        """
        return 7 * self.width, 6 * self.width

    @property
    def block_parameters(self) -> int:
        return self.block_matrices + sum(self.block_vectors)

    @property
    def end_parameters(self) -> tuple[int, int]:
        """(V + s) h of the embedding, (V + 2) h of the head and its norm."""
        return (self.vocabulary + self.block) * self.width, (self.vocabulary + 2) * self.width

    @property
    def parameters(self) -> int:
        return self.layers * self.block_parameters + sum(self.end_parameters)

    @property
    def block_activations(self) -> tuple[int, int]:
        """Numbers that a block keeps for each token: inputs of its norms, and all others.

        2 h; and 14 h: inputs of qkv (h), query, key and value (3 h), input of the output projection
        (h), of ``up`` (h), of GELU and ``down`` (4 h each). The attention matrix is never kept
        (Korthikanti et al. 2022, without what FlashAttention and the missing dropout save).
        """
        return 2 * self.width, 14 * self.width

    @property
    def saved_widths(self) -> tuple[int, ...]:
        """The widths of the tensors that a block saves beside the inputs of its norms.

        They are ``block_activations``, and once more the attention's result, which both attention
        and the output projection save: one tensor, but two copies if it is offloaded.
        """
        return (self.width,) * 7 + (self.hidden,) * 2

    @property
    def product_widths(self) -> tuple[int, ...]:
        return 3 * self.width, self.width, self.hidden, self.width

    def shard_parameters(self, ranks: int) -> int:
        """Parameters on one of ``ranks`` under ``tp_plan``: every rank has the full embedding."""
        sharded, full = self.block_vectors
        embedding, head = self.end_parameters
        score = self.vocabulary * self.width
        block = (self.block_matrices + sharded) // ranks + full
        return self.layers * block + embedding + score // ranks + head - score

    def flop(
        self,
        batch: int,
        *,
        activation: str = "noop",
        wrapped: int | None = None,
        last: bool = False,
    ) -> float:
        """Operations of one step on ``batch`` sequences, forward and backward.

        6 B s (l (m + 2 s h) + V h), with m weights in the matrices of a block. The backward pass
        takes twice the operations of the forward pass: 2 for each weight and token, and 4 s h for
        the attention of a token to all s, although a causal one may skip half (Narayanan et al.
        2021, "Efficient Large-Scale Language Model Training", appendix: with m = 12 h^2 this is its
        72 B s l h^2 (1 + s/(6h) + V/(12 l h)). torchtitan counts the same).

        With ``activation`` checkpoint the ``wrapped`` blocks, by default all, have a second forward
        pass: 8 in place of 6, which is the paper's 96 B s l h^2 (1 + s/(6h) + V/(16 l h)). With
        selective every other product of them is computed again, of the ``last`` only if so told:
        nothing in the block depends on it.
        """
        h, tokens = self.width, float(batch * self.block)
        block = self.block_matrices + 2 * self.block * h
        again = 0
        if activation == "checkpoint":
            again = block
        elif activation == "selective":
            again = sum((self.matrix_sizes if last else self.matrix_sizes[:-1])[1::2])
        again *= 2 * (self.layers if wrapped is None else wrapped)
        return tokens * (6 * (self.layers * block + self.vocabulary * h) + again)

    def narrow(self, tokens: int) -> Self:
        """The shape with the same layers and heads, at most 16 units of width for each head."""
        width = self.heads * max(min(16, CHECKED_WIDTH // self.heads), 1)
        return replace(
            self,
            width=min(self.width, width),
            vocabulary=min(self.vocabulary, CHECKED_VOCABULARY),
            block=tokens,
        )


@dataclass(frozen=True)
class Llama(Shape):
    """The size of a Llama 3: grouped queries, SwiGLU, RMSNorm, no biases, no table of positions."""

    vocabulary: int = 128256
    block: int = 8192
    groups: int = 8
    hidden: int = 8192

    @property
    def matrix_sizes(self) -> tuple[int, ...]:
        rows = self.width + 2 * self.groups * self.head
        return self.width * rows, self.width**2, *[self.width * self.hidden] * 3

    @property
    def block_vectors(self) -> tuple[int, int]:
        return 0, 2 * self.width

    @property
    def end_parameters(self) -> tuple[int, int]:
        return self.vocabulary * self.width, (self.vocabulary + 1) * self.width

    @property
    def block_activations(self) -> tuple[int, int]:
        """Numbers that a block keeps for each token: inputs of its norms, and all others.

        2 h; and inputs of qkv, the query, inputs of the output projection and of the perceptron
        (h each), key and value (k each), gate, its SiLU, up and input of ``down`` (f each).
        """
        others = 4 * self.width + 2 * self.groups * self.head + 4 * self.hidden
        return 2 * self.width, others

    @property
    def saved_widths(self) -> tuple[int, ...]:
        return (self.width,) * 5 + (self.groups * self.head,) * 2 + (self.hidden,) * 4

    @property
    def product_widths(self) -> tuple[int, ...]:
        rows = self.width + 2 * self.groups * self.head
        return rows, self.width, self.hidden, self.hidden, self.width

    def narrow(self, tokens: int) -> Self:
        narrow = super().narrow(tokens)
        return replace(narrow, hidden=min(self.hidden, 4 * narrow.width))


SHAPES: Mapping[str, Shape] = {
    # Names, layers, heads and width are ptd_benchmark's.
    "GPTSmall": Shape(12, 12, 768),
    "GPTMedium": Shape(24, 16, 1024),
    "GPTLarge": Shape(24, 16, 1536),
    "GPTXL": Shape(24, 24, 2064),
    "GPTXXL": Shape(32, 32, 2560),
    "GPTXXXL": Shape(32, 32, 4096),
    "GPT13B": Shape(48, 48, 5184),
    "GPT39B": Shape(48, 64, 7680),
    "GPT76B": Shape(64, 80, 10240),
    "GPT175B": Shape(96, 96, 12288),
    "GPT1T": Shape(128, 128, 25600),
    # Not in ptd_benchmark. Heads of 128: GPTXL's have 86, which kernels pad.
    "GPT1B": Shape(24, 16, 2048),
    "GPTTiny": Shape(8, 4, 64),  # it trains in milliseconds on a CPU
    # Llama 3.2 (1B) and 3.1 (8B, 70B).
    "llama3-1b": Llama(16, 32, 2048, hidden=8192),
    "llama3-8b": Llama(32, 32, 4096, hidden=14336),
    "llama3-70b": Llama(80, 64, 8192, hidden=28672),
    "llama3-tiny": Llama(8, 8, 64, 512, 128, groups=4, hidden=160),
}


def shape_of(name: str, vocabulary: int | None = None, block: int | None = None) -> Shape:
    """The shape of a named size; by default with its own vocabulary and tokens of a sequence."""
    shape = SHAPES[name]
    return replace(shape, vocabulary=vocabulary or shape.vocabulary, block=block or shape.block)
