"""The gradients, losses and parameters of a strategy, and their differences from one device's."""

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, distribute_tensor
from torch.distributed.tensor.placement_types import Placement

from benchmarks.common.group import Group
from benchmarks.common.strategies.parameters import local, plain_name

Part = tuple[object, ...]  # a parameter's plain name, and the place of a shard on its mesh


@dataclass(frozen=True)
class Gradient:
    """This rank's part of a gradient: all of it, or a shard."""

    part: Part
    values: Tensor  # on the host
    layout: tuple[DeviceMesh, Sequence[Placement]] | None = None  # None: all of it

    def cut(self, full: Tensor) -> Tensor:
        """The same part of a full tensor, on the host; nothing is sent."""
        if self.layout is not None:
            sharded = distribute_tensor(full, *self.layout, src_data_rank=None)
            full = sharded.to_local()
        return full.cpu().double()


@dataclass(frozen=True)
class Trained:
    """The results of a few steps on one rank."""

    losses: Sequence[float]
    gradients: Mapping[str, Gradient]  # of the last step, by the parameter's plain name
    hashes: Mapping[Part, str]  # of each part of each parameter
    updates: Mapping[Part, "Difference"]  # of the last step; empty: not compared


@dataclass(frozen=True)
class Expected:
    """What one device computes, on rank 0: full tensors on the host."""

    losses: Sequence[float]
    gradients: Mapping[str, Tensor]
    rounding: Mapping[str, Tensor]  # the error of each number of them; empty: not known, tiny
    reordered: bool = False  # the strategy orders its operations in another way

    def relative_rounding(self) -> float:
        """The norm of the errors by rounding, relative to that of the gradients."""
        rounding = sum(_squares(error) for error in self.rounding.values())
        return math.sqrt(rounding / max(sum(map(_squares, self.gradients.values())), 1e-300))


@dataclass(frozen=True)
class Difference:
    """How far a part d of a gradient is from the right one g, and how far rounding e may take it.

    What lies along g shows a wrong scale: rounding has no direction, and averages out there.
    """

    numel: int
    right: float  # |g|^2
    squares: float  # |d - g|^2
    along: float = 0.0  # <d - g, g>
    rounding: float = 0.0  # |e|^2
    rounding_along: float = 0.0  # <e, g>
    rounding_spread: float = 0.0  # sqrt(sum e^2 g^2), that of <e, g> if signs were random


@dataclass(frozen=True)
class RankResult:
    """One rank's part of the comparison, as it is sent to rank 0."""

    losses: Sequence[float]  # nan if the rank does not have it
    differences: Mapping[Part, Difference]  # of each part that the rank has
    hashes: Mapping[Part, str]
    updates: Mapping[Part, Difference]


@dataclass(frozen=True)
class Errors:
    """The differences between a strategy and one device, over all parameters and steps."""

    gradient_error: float  # |d - g| / |g|
    scale_error: float  # |<d, g> / <g, g> - 1|
    loss_error: float  # relative, of the worst step
    replicas_equal: bool


def compare(expected: Expected, ranks: Sequence[RankResult]) -> Errors:
    difference = along = total = 0.0
    known = dict.fromkeys(expected.gradients, 0)
    for part, found in worst_copies([rank.differences for rank in ranks]).items():
        known[str(part[0])] += found.numel
        difference += found.squares
        along += found.along
    for name, right in expected.gradients.items():
        squares = _squares(right)
        total += squares
        if known[name] < right.numel():  # a gradient that no rank has is wrong by all of it
            difference += squares
            along -= squares
    total = max(total, 1e-300)
    return Errors(
        math.sqrt(difference / total),
        abs(along) / total,
        _loss_error(expected.losses, [rank.losses for rank in ranks]),
        _equal(rank.hashes for rank in ranks),
    )


def worst_copies(ranks: Iterable[Mapping[Part, Difference]]) -> dict[Part, Difference]:
    """The difference of each part; of several copies the worst, since any may be wrong."""
    worst: dict[Part, Difference] = {}
    for differences in ranks:
        for part, found in differences.items():
            if part not in worst or _size(found) > _size(worst[part]):
                worst[part] = found
    return worst


def gradients(model: nn.Module) -> dict[str, Gradient]:
    """This rank's parts of the gradients, by the parameter's plain name, on the host."""
    found = {}
    for name, parameter in model.named_parameters():
        values = parameter.grad
        if values is None:
            continue
        layout = None
        if isinstance(values, DTensor):
            assert isinstance(parameter, DTensor)
            layout = values.device_mesh, parameter.placements
            values = values.redistribute(placements=layout[1]).to_local()
        exact = torch.promote_types(values.dtype, torch.float32)
        host = values.detach().to("cpu", exact, copy=True)
        plain = plain_name(name)
        found[plain] = Gradient(part_of(plain, parameter), host, layout)
    return found


def part_of(name: str, parameter: Tensor) -> Part:
    """The key of this rank's part of a parameter; copies of a part have the same."""
    if not isinstance(parameter, DTensor):
        return (name,)
    where = parameter.device_mesh.get_coordinate() or []
    sharded = [not placement.is_replicate() for placement in parameter.placements]
    return (name, *(at for at, split in zip(where, sharded, strict=True) if split))


def hashes(model: nn.Module) -> dict[Part, str]:
    """A hash of each part of a parameter that this rank has."""
    found = {}
    for name, parameter in model.named_parameters():
        raw = local(parameter.detach()).contiguous().cpu().view(-1).view(torch.uint8)
        part = part_of(plain_name(name), parameter)
        found[part] = hashlib.blake2b(raw.numpy().tobytes(), digest_size=16).hexdigest()
    return found


def differences(mine: Trained, expected: Expected | None, group: Group) -> dict[Part, Difference]:
    """The differences of this rank's gradients to the expected ones, which only rank 0 has.

    Rank 0 sends one gradient after another, so that no rank has more than two models in memory.
    """
    sizes: list[dict[str, tuple[torch.Size, torch.dtype, bool]]] = [{}]
    if expected is not None:
        sizes = [
            {
                name: (right.shape, right.dtype, name in expected.rounding)
                for name, right in expected.gradients.items()
            }
        ]
    if group.world_size > 1:
        dist.broadcast_object_list(sizes, device=group.device)
    found = {}
    for name, (shape, dtype, rounded) in sizes[0].items():
        shared = torch.zeros((2, *shape), dtype=dtype, device=group.device)
        if expected is not None:
            shared[0] = expected.gradients[name]
            if rounded:
                shared[1] = expected.rounding[name]
        if group.world_size > 1:
            dist.broadcast(shared, 0)
        if name in mine.gradients:
            gradient = mine.gradients[name]
            found[gradient.part] = difference(
                gradient.values.double(), gradient.cut(shared[0]), gradient.cut(shared[1])
            )
    return found


def difference(found: Tensor, right: Tensor, rounding: Tensor | float = 0.0) -> Difference:
    """The difference of tensors in fp64; ``rounding`` is the error of each number."""
    wrong, errors = found - right, torch.as_tensor(rounding).expand_as(right)
    uncertain = errors * right
    return Difference(
        right.numel(),
        _squares(right),
        _squares(wrong),
        float((wrong * right).sum()),
        _squares(errors),
        float(uncertain.sum()),
        math.sqrt(_squares(uncertain)),
    )


def relative_error(found: Mapping[str, Tensor], right: Mapping[str, Tensor]) -> float:
    """|found - right| / |right|, over all gradients of ``right``."""
    difference = sum(_squares(found[name].double() - right[name].double()) for name in right)
    return math.sqrt(difference / max(sum(map(_squares, right.values())), 1e-300))


def _squares(values: Tensor) -> float:
    return float(values.double().square().sum())


def _size(difference: Difference) -> float:
    return math.inf if math.isnan(difference.squares) else difference.squares


def _loss_error(expected: Sequence[float], ranks: Sequence[Sequence[float]]) -> float:
    worst = 0.0
    for k, right in enumerate(expected):
        known = [losses[k] for losses in ranks if not math.isnan(losses[k])]
        loss = sum(known) / len(known) if known else math.nan
        error = abs(loss - right) / max(abs(right), 1e-12)
        worst = error if math.isnan(error) else max(worst, error)
    return worst


def _equal(found: Iterable[Mapping[Part, str]]) -> bool:
    copies: dict[Part, set[str]] = {}
    for parts in found:
        for part, digest in parts.items():
            copies.setdefault(part, set()).add(digest)
    return all(len(digests) == 1 for digests in copies.values())
