"""The memory of one rank that trains a GPT, at the moments when it needs most."""

import argparse
import math

from benchmarks.common.fitting import Memory
from benchmarks.common.strategies.batches import PIPELINES, parts, replica_batch, tensor_size
from benchmarks.common.strategies.pipeline import RECEIVES_INTO_OWN
from benchmarks.gpt.shapes import Shape
from benchmarks.gpt.shares import Bytes, share_of


class RankMemory:
    """The memory of a rank of a pipeline, or of any rank in other modes, in bytes."""

    def __init__(self, shape: Shape, args: argparse.Namespace, ranks: int, rank: int) -> None:
        self._shape, self._args = shape, args
        self._size, self._share = Bytes.of(args), share_of(shape, args, ranks, rank)
        self._tensor, self._parts = tensor_size(args, ranks), parts(args, ranks)
        self._between = self._tensor if args.sequence_parallel else 1  # ranks that share tokens
        self._tokens = replica_batch(args, ranks) * shape.block / self._parts
        held, self._states = self._share.kept * self._size.own, 2
        if args.optimizer == "sgd":
            self._states = 1
        self._kept, self._offloaded = (0.0, held) if args.cpu_offload else (held, 0.0)
        self._pinned = self._offloaded * self._rounding()
        self._resharded = bool(self._share.block) and args.reshard_after_forward is not False
        self._block = self._block_bytes()
        # Inside a block: gradients of its output and of the perceptron's tensor.
        widths = shape.hidden / self._tensor + shape.width
        self._inside = widths * self._tokens * self._size.low + self._casts()
        # Of FSDP's blocks the one before is being reduced.
        self._reducing = self._share.block * (self._size.reduced + self._size.gathered * 2 / 3)

    def moments(self) -> tuple[Memory, ...]:
        """When a backward pass begins, when it ends, and when FSDP reduces the embedding."""
        found = self._begins(), self._ends()
        return (*found, self._reduces()) if self._share.block else found

    def _begins(self) -> Memory:
        size, share = self._size, self._share
        full, host = self._activations()
        again = 0.0
        if self._args.activation in ("checkpoint", "selective") and share.last_is_wrapped:
            again = self._block - self._tokens * self._selected_bytes()
        # Of the block that is being reduced the activations are gone, and half of those of the
        # block that follows.
        passing = max(self._reducing - 1.5 * self._block, 0) + self._head_gradient()
        if self._resharded:
            passing += 2 * share.block * size.gathered
        most = max(self._loss(), self._inside + again + passing)
        return Memory(
            weights=self._kept + share.gathered * size.gathered + share.matrices * size.copied,
            gradients=self._early_gradients(),
            optimizer=self._kept * self._states,
            activations=full + most,
            host=self._pinned + self._offloaded * self._states + host,
        )

    def _ends(self) -> Memory:
        size, share = self._size, self._share
        # Those of the first block are not there yet; of FSDP's they are, but are not reduced.
        missing = 0.0
        unreduced = self._reducing
        if not share.block:
            missing = self._shape.block_parameters / self._tensor * size.own
            # All are added up first, and then reduced block by block.
            unreduced = share.gathered * size.reduced
        return Memory(
            weights=self._kept + (share.first + share.block) * size.gathered,
            gradients=self._kept + unreduced,
            optimizer=self._kept * self._states,
            activations=max(self._block + self._inside - missing, 0),
            host=2 * self._pinned + self._offloaded * self._states,
        )

    def _reduces(self) -> Memory:
        size, first = self._size, self._share.first
        reduced = max(first * size.gathered + self._reducing, first * size.reduced)
        return Memory(
            weights=self._kept,
            gradients=self._kept + first * size.gathered + reduced,
            optimizer=self._kept * self._states,
            activations=0.0,
        )

    def _loss(self) -> float:
        """The scores, their softmax and its gradient, all in fp32; there for a moment.

        Where ranks share them, the softmax is made of single operations: they are there once more.
        """
        if not self._share.scored:
            return 0.0
        copies = 3 if self._tensor == 1 else 4
        return copies * 4 * self._tokens * self._shape.vocabulary / self._tensor

    def _head_gradient(self) -> float:
        if not self._share.scored or self._early_gradients():
            return 0.0
        return self._shape.vocabulary * self._shape.width / self._tensor * self._size.gathered

    def _early_gradients(self) -> float:
        size, share, args = self._size, self._share, self._args
        if args.mode == "pdp" and share.gathered:
            return share.gathered * size.reduced
        if share.block:
            full = self._shape.shard_parameters(self._tensor)
            return full * size.reduced if args.accumulate > 1 else 0.0
        return share.kept * size.own if args.mode == "ddp" or self._parts > 1 else 0.0

    def _block_bytes(self) -> float:
        """The activations of a block for a microbatch: ``Shape.block_activations``.

        Tensor parallelism shards them, but not the inputs of norms, unless tokens are sharded
        there, nor the inputs of qkv and of the perceptron, which are gathered.
        """
        norms, others = self._shape.block_activations
        gathered = 2 * self._shape.width
        inside = gathered + (others - gathered) / self._tensor
        return (norms / self._between * self._size.norms + inside * self._size.low) * self._tokens

    def _activations(self) -> tuple[float, float]:
        """What all blocks and the head keep for the backward pass, on the device and on the host.

        The head adds the input and the output of its norm. A pipeline adds what its stages send and
        receive, and the scores; of microbatches whose loss is known, also their softmax.
        """
        size, share, passes = self._size, self._share, self._share.passes
        hidden = self._tokens * self._shape.width
        sharded = hidden / self._between
        ends = hidden * size.norms * (share.sent + share.waiting)
        if share.scored:
            ends += sharded * size.norms + hidden * size.low
        if share.scored and self._args.mode in PIPELINES:
            words = self._tokens * self._shape.vocabulary
            kept = share.scored + RECEIVES_INTO_OWN  # such versions keep the last microbatch's, too
            ends += words * (kept * size.low + (share.scored - 1) * 4)
        if self._args.activation == "noop":
            return passes * self._block + ends, 0.0
        kept = (passes - share.wrapped) * self._block + ends
        if self._args.activation == "offload":
            return kept, share.wrapped * self._saved_on_host()
        inputs = sharded * size.gathered + self._tokens * self._selected_bytes()
        return kept + share.wrapped * inputs, 0.0

    def _selected_bytes(self) -> float:
        """Of a token, what ``--activation selective`` keeps.

        Attention, every other product, and of tensor parallelism the two sums over ranks.
        """
        if self._args.activation != "selective":
            return 0.0
        width = self._shape.width
        kept = (width + sum(self._shape.product_widths[::2])) / self._tensor
        if self._tensor > 1:
            kept += 2 * width / self._between
        return kept * self._size.low

    def _saved_on_host(self) -> float:
        size, shape = self._size, self._shape
        found = 2 * _pinned(self._tokens / self._between * shape.width * size.norms)
        found += 2 * _pinned(self._tokens * shape.width * size.low)  # inputs of qkv, perceptron
        for width in shape.saved_widths[2:]:
            found += _pinned(self._tokens * width * size.low / self._tensor)
        return found

    def _casts(self) -> float:
        """For a moment inside a block, what ``--float8`` adds.

        It scales a tensor in fp32, and makes one more copy of that: at worst of the perceptron's
        tensor, or of weights. The gradient of the output is there once more, and in fp8.
        """
        if self._args.float8 == "none":
            return 0.0
        shape, tokens = self._shape, self._tokens
        scaled = 8 * max(shape.hidden * tokens, *shape.matrix_sizes) / self._tensor
        return scaled + shape.width * tokens * (self._size.low + 1)

    def _rounding(self) -> float:
        shards = self._shape.parameters / max(self._share.kept, 1)
        sizes = [matrix * self._size.own / shards for matrix in self._shape.matrix_sizes]
        return sum(map(_pinned, sizes)) / sum(sizes)


def _pinned(size: float) -> float:
    return 2.0 ** math.ceil(math.log2(max(size, 1)))
