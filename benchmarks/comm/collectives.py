"""The operations of a communication benchmark, with the bytes they move and their expected results.

Sizes and factors are those of nccl-tests (its doc/PERFORMANCE.md), to make figures comparable.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import torch
import torch.distributed as dist

from benchmarks.common.failure import UnsupportedError


@dataclass(frozen=True)
class RankTensors:
    """The tensors that one rank exchanges with the others."""

    rank: int
    ranks: int
    device: torch.device
    dtype: torch.dtype
    group: dist.ProcessGroup | None = None  # of these ranks; None: of all
    in_place: bool = False  # where the operation has the choice

    def ramp(self, elements: int, offset: int = 0) -> torch.Tensor:
        """Elements 0, 1, 2, 0, 1, 2, ... from ``offset`` on: small numbers, exact in every type."""
        period = (torch.arange(3, device=self.device) + offset) % 3
        return period.to(self.dtype).repeat(-(-elements // 3))[:elements]

    def input_of(self, rank: int, elements: int, offset: int = 0) -> torch.Tensor:
        """The input of ``rank`` from element ``offset`` on; neighbours have different inputs."""
        return self.ramp(elements, offset).add_(rank % 4)

    def sum_of_inputs(self, elements: int, offset: int = 0) -> torch.Tensor:
        # In fp32: scaling in 16 bits would round where adding the inputs does not.
        total = self.ramp(elements, offset).float().mul_(self.ranks)
        return total.add_(sum(rank % 4 for rank in range(self.ranks)))

    def part_of(self, full: torch.Tensor) -> torch.Tensor:
        """This rank's part of data that all ranks have parts of."""
        return full.chunk(self.ranks)[self.rank]

    def empty(self, elements: int) -> torch.Tensor:
        return torch.empty(elements, device=self.device, dtype=self.dtype)


@dataclass(frozen=True)
class Exchange:
    """An operation on tensors of one size, ready to be called any number of times."""

    call: Callable[[], object]
    inputs: torch.Tensor
    result: torch.Tensor
    expected: Callable[[], torch.Tensor]
    sums: bool = False

    def refill(self) -> None:
        """Fill the input with random numbers, which take as much power as those of training.

        A sum in place has zeros: others would grow until they overflow.
        """
        in_place = self.inputs.untyped_storage()._cdata == self.result.untyped_storage()._cdata
        self.result.zero_()
        if self.sums and in_place:
            self.inputs.zero_()
        else:
            self.inputs.uniform_(-1, 1)

    def is_correct(self, ranks: int) -> bool:
        """Whether the first call gave the expected result on this rank.

        Copies must be exact. A sum of n numbers of one sign is off by at most (n-1)/2 of the
        type's epsilon, relative, whatever the order (Higham, Accuracy and Stability, 4.2).
        """
        result, expected = self.result.float(), self.expected().float()
        slack = 0.0
        if self.sums:
            slack = (ranks - 1) * torch.finfo(self.result.dtype).eps / 2
        return bool(((result - expected).abs() <= slack * expected).all())


def all_reduce(tensors: RankTensors, elements: int) -> Exchange:
    """Every rank gets the sum; in place, as DDP does it with its buckets."""
    data = tensors.input_of(tensors.rank, elements)
    return Exchange(
        lambda: dist.all_reduce(data, group=tensors.group),
        data,
        data,
        lambda: tensors.sum_of_inputs(elements),
        sums=True,
    )


def all_gather(tensors: RankTensors, elements: int) -> Exchange:
    """Every rank gets the parts of all; the size is that of the result.

    In place a rank's input is its part of the result, as in FSDP.
    """
    count = elements // tensors.ranks
    part, full = tensors.input_of(tensors.rank, count), tensors.empty(elements)
    if tensors.in_place:
        part = tensors.part_of(full).copy_(part)
    return Exchange(
        lambda: dist.all_gather_into_tensor(full, part, group=tensors.group),
        part,
        full,
        lambda: torch.cat([tensors.input_of(rank, count) for rank in range(tensors.ranks)]),
    )


def reduce_scatter(tensors: RankTensors, elements: int) -> Exchange:
    """Every rank gets its part of the sum; the size is that of the input.

    In place the result is a part of the input.
    """
    count = elements // tensors.ranks
    full = tensors.input_of(tensors.rank, elements)
    part = tensors.part_of(full) if tensors.in_place else tensors.empty(count)
    return Exchange(
        lambda: dist.reduce_scatter_tensor(part, full, group=tensors.group),
        full,
        part,
        lambda: tensors.sum_of_inputs(count, offset=tensors.rank * count),
        sums=True,
    )


def all_to_all(tensors: RankTensors, elements: int) -> Exchange:
    """Every rank gets one part of each; the size is that of the input."""
    count = elements // tensors.ranks
    first = tensors.rank * count
    data, result = tensors.input_of(tensors.rank, elements), tensors.empty(elements)
    return Exchange(
        lambda: dist.all_to_all_single(result, data, group=tensors.group),
        data,
        result,
        lambda: torch.cat([tensors.input_of(rank, count, first) for rank in range(tensors.ranks)]),
    )


def broadcast(tensors: RankTensors, elements: int) -> Exchange:
    """Every rank gets the data of rank 0."""
    data = tensors.input_of(tensors.rank, elements)
    return Exchange(
        lambda: dist.broadcast(data, group=tensors.group, group_src=0),
        data,
        data,
        lambda: tensors.input_of(0, elements),
    )


def p2p(tensors: RankTensors, elements: int) -> Exchange:
    """Each rank sends to the next and receives from the one before it: a ring."""
    after = (tensors.rank + 1) % tensors.ranks
    before = (tensors.rank - 1) % tensors.ranks
    data, result = tensors.input_of(tensors.rank, elements), tensors.empty(elements)

    def call() -> None:
        ways = [
            dist.P2POp(dist.isend, data, group=tensors.group, group_peer=after),
            dist.P2POp(dist.irecv, result, group=tensors.group, group_peer=before),
        ]
        for work in dist.batch_isend_irecv(ways):
            work.wait()

    return Exchange(call, data, result, lambda: tensors.input_of(before, elements))


@dataclass(frozen=True)
class Operation:
    """How an exchange is made, and the factor of its bus bandwidth."""

    make: Callable[[RankTensors, int], Exchange]
    bus_factor: Callable[[int], Fraction]  # of the number of ranks
    divided: bool  # whether each rank has its own equal part of the elements
    in_place: tuple[bool, ...]  # whether the result can take the input's place; first the default


def _all_but_one(ranks: int) -> Fraction:
    return Fraction(ranks - 1, ranks)


def _twice_all_but_one(ranks: int) -> Fraction:
    return 2 * _all_but_one(ranks)


def _all(_: int) -> Fraction:
    return Fraction(1)


IN_PLACE, OUT_OF_PLACE, EITHER = (True,), (False,), (False, True)
OPERATIONS: Mapping[str, Operation] = {
    "all_reduce": Operation(all_reduce, _twice_all_but_one, False, IN_PLACE),
    "all_gather": Operation(all_gather, _all_but_one, True, EITHER),
    "reduce_scatter": Operation(reduce_scatter, _all_but_one, True, EITHER),
    "all_to_all": Operation(all_to_all, _all_but_one, True, OUT_OF_PLACE),
    "broadcast": Operation(broadcast, _all, False, IN_PLACE),
    "p2p": Operation(p2p, _all, False, OUT_OF_PLACE),
}


def checked_exchange(name: str, tensors: RankTensors, elements: int) -> Exchange:
    """The exchange of ``elements`` elements, after one call whose result was correct.

    Raises ``UnsupportedError`` if the backend does not have the operation, ``RuntimeError`` for a
    wrong result.
    """
    exchange = OPERATIONS[name].make(tensors, elements)
    try:
        exchange.call()
    except RuntimeError as error:
        # For a missing operation torch's dispatcher raises this subclass; a backend says so in its
        # message.
        first, *_ = str(error).splitlines() or [""]
        if isinstance(error, NotImplementedError) or "not support" in first:
            backend = dist.get_backend()
            raise UnsupportedError(
                f"{backend} cannot do {name} of {tensors.dtype}: {first}"
            ) from error
        raise
    if not exchange.is_correct(tensors.ranks):
        raise RuntimeError(
            f"{name} of {elements} elements of {tensors.dtype} gave a wrong result on rank "
            f"{tensors.rank} of {tensors.ranks}"
        )
    exchange.refill()
    return exchange
