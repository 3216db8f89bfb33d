"""The operations of a communication benchmark: what each one does, moves, and must give.

Sizes and factors are those of nccl-tests (its doc/PERFORMANCE.md), so that figures can be compared.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import torch
import torch.distributed as dist

from benchmarks.common.failure import Refusal


@dataclass(frozen=True)
class Place:
    """A rank among the others, and the tensors that it works with."""

    rank: int
    ranks: int
    device: torch.device
    dtype: torch.dtype

    def ramp(self, elements: int, offset: int = 0) -> torch.Tensor:
        """0, 1, 2, 0, 1, 2, ... begun at ``offset``: small numbers, exact in every type."""
        period = (torch.arange(3, device=self.device) + offset) % 3
        return period.to(self.dtype).repeat(-(-elements // 3))[:elements]

    def given(self, rank: int, elements: int, offset: int = 0) -> torch.Tensor:
        """What ``rank`` puts in from element ``offset`` on: no two neighbours give the same."""
        return self.ramp(elements, offset).add_(rank % 4)

    def summed(self, elements: int, offset: int = 0) -> torch.Tensor:
        """The sum over all ranks of what they put in."""
        # In fp32: to scale and add in 16 bits would round what a sum of the inputs does not.
        total = self.ramp(elements, offset).float().mul_(self.ranks)
        return total.add_(sum(rank % 4 for rank in range(self.ranks)))

    def empty(self, elements: int) -> torch.Tensor:
        """Room for a result."""
        return torch.empty(elements, device=self.device, dtype=self.dtype)


@dataclass(frozen=True)
class Exchange:
    """An operation on tensors of one size, ready to be called any number of times."""

    call: Callable[[], object]
    inputs: torch.Tensor
    result: torch.Tensor
    expected: Callable[[], torch.Tensor]
    sums: bool = False

    def right(self, ranks: int) -> bool:
        """Whether the result of the first call is what it must be on this rank.

        Copies must be exact. A sum of n numbers of one sign is off by at most (n-1)/2 of the
        type's epsilon, relative, whatever the order (Higham, Accuracy and Stability, 4.2).
        """
        result, expected = self.result.float(), self.expected().float()
        slack = (ranks - 1) * torch.finfo(self.result.dtype).eps / 2 if self.sums else 0.0
        return bool(((result - expected).abs() <= slack * expected).all())


def all_reduce(place: Place, elements: int) -> Exchange:
    """Every rank gets the sum; in place, as DDP does it with its buckets."""
    data = place.given(place.rank, elements)
    return Exchange(
        lambda: dist.all_reduce(data), data, data, lambda: place.summed(elements), sums=True
    )


def all_gather(place: Place, elements: int) -> Exchange:
    """Every rank gets the parts of all; the size is that of the result."""
    count = elements // place.ranks
    part, whole = place.given(place.rank, count), place.empty(elements)
    return Exchange(
        lambda: dist.all_gather_into_tensor(whole, part),
        part,
        whole,
        lambda: torch.cat([place.given(rank, count) for rank in range(place.ranks)]),
    )


def reduce_scatter(place: Place, elements: int) -> Exchange:
    """Every rank gets its part of the sum; the size is that of the input."""
    count = elements // place.ranks
    whole, part = place.given(place.rank, elements), place.empty(count)
    return Exchange(
        lambda: dist.reduce_scatter_tensor(part, whole),
        whole,
        part,
        lambda: place.summed(count, offset=place.rank * count),
        sums=True,
    )


def all_to_all(place: Place, elements: int) -> Exchange:
    """Every rank gets one part of each; the size is that of the input."""
    count, first = elements // place.ranks, place.rank * (elements // place.ranks)
    data, result = place.given(place.rank, elements), place.empty(elements)
    return Exchange(
        lambda: dist.all_to_all_single(result, data),
        data,
        result,
        lambda: torch.cat([place.given(rank, count, first) for rank in range(place.ranks)]),
    )


def broadcast(place: Place, elements: int) -> Exchange:
    """Every rank gets what rank 0 has."""
    data = place.given(place.rank, elements)
    return Exchange(
        lambda: dist.broadcast(data, src=0), data, data, lambda: place.given(0, elements)
    )


def p2p(place: Place, elements: int) -> Exchange:
    """Each rank sends to the next and receives from the one before it: a ring."""
    after, before = (place.rank + 1) % place.ranks, (place.rank - 1) % place.ranks
    data, result = place.given(place.rank, elements), place.empty(elements)

    def call() -> None:
        ways = [dist.P2POp(dist.isend, data, after), dist.P2POp(dist.irecv, result, before)]
        for work in dist.batch_isend_irecv(ways):
            work.wait()

    return Exchange(call, data, result, lambda: place.given(before, elements))


@dataclass(frozen=True)
class Operation:
    """How an operation is made, and what of its size passes each rank's link."""

    make: Callable[[Place, int], Exchange]
    bus_factor: Callable[[int], Fraction]  # of the number of ranks
    divided: bool  # whether each rank has its own equal part of the elements


OPERATIONS: Mapping[str, Operation] = {
    "all_reduce": Operation(all_reduce, lambda n: Fraction(2 * (n - 1), n), divided=False),
    "all_gather": Operation(all_gather, lambda n: Fraction(n - 1, n), divided=True),
    "reduce_scatter": Operation(reduce_scatter, lambda n: Fraction(n - 1, n), divided=True),
    "all_to_all": Operation(all_to_all, lambda n: Fraction(n - 1, n), divided=True),
    "broadcast": Operation(broadcast, lambda _: Fraction(1), divided=False),
    "p2p": Operation(p2p, lambda _: Fraction(1), divided=False),
}


def checked(name: str, place: Place, elements: int) -> Exchange:
    """The operation on ``elements`` elements, after one call whose result was right.

    ``Refusal`` where the backend does not have it; ``RuntimeError`` where the result is wrong.
    """
    exchange = OPERATIONS[name].make(place, elements)
    try:
        exchange.call()
    except RuntimeError as error:
        # What a backend lacks torch's dispatcher says by this subclass, backends by their words.
        first, *_ = str(error).splitlines() or [""]
        if isinstance(error, NotImplementedError) or "not support" in first:
            backend = dist.get_backend()
            raise Refusal(f"{backend} cannot do {name} of {place.dtype}: {first}") from error
        raise
    if not exchange.right(place.ranks):
        raise RuntimeError(
            f"{name} of {elements} elements of {place.dtype} gave a wrong result on rank "
            f"{place.rank} of {place.ranks}"
        )
    # The sum of an all-reduce in place would grow until it overflows: zeros stay zeros.
    exchange.inputs.zero_()
    return exchange
