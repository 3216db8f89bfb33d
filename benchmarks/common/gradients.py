"""The gradients, losses and parameters of a strategy, and their differences from one device's."""

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from benchmarks.common.group import Group
from benchmarks.common.strategies.parameters import plain_name


@dataclass(frozen=True)
class Trained:
    """The results of a few steps on one rank."""

    losses: Sequence[float]
    gradients: Mapping[str, Tensor]  # of the last step, full tensors, on the host
    hashes: Mapping[tuple[object, ...], str]  # of each part of each parameter


@dataclass(frozen=True)
class Difference:
    """How far one gradient d is from the right one g."""

    squares: float  # |d - g|^2
    along: float  # <d - g, g>: what remains of a wrong scale where rounding averages out


@dataclass(frozen=True)
class RankResult:
    """One rank's part of the comparison, as it is sent to rank 0."""

    losses: Sequence[float]  # nan if the rank does not have it
    differences: Mapping[str, Difference]  # of each gradient that the rank has
    hashes: Mapping[tuple[object, ...], str]  # of each part of each parameter


@dataclass(frozen=True)
class Errors:
    """The differences between a strategy and one device, over all parameters and steps."""

    gradient_error: float  # |d - g| / |g|
    scale_error: float  # |<d, g> / <g, g> - 1|
    loss_error: float  # relative, of the worst step
    replicas_equal: bool


def compare(reference: Trained, ranks: Sequence[RankResult]) -> Errors:
    """Compare the parts of all ranks with one device."""
    difference = along = total = 0.0
    for name, expected in reference.gradients.items():
        squares = _squares(expected)
        total += squares
        # Any copy may be wrong; a gradient that no rank has counts as an error of its full size.
        found = [rank.differences[name] for rank in ranks if name in rank.differences]
        worst = max(found, key=_size, default=Difference(squares, -squares))
        difference += worst.squares
        along += worst.along
    total = max(total, 1e-300)
    return Errors(
        math.sqrt(difference / total),
        abs(along) / total,
        _loss_error(reference.losses, [rank.losses for rank in ranks]),
        _equal(rank.hashes for rank in ranks),
    )


def full_gradients(model: nn.Module) -> dict[str, Tensor]:
    """Full gradients by the parameter's plain name, on the host; every rank must call this."""
    found = {}
    for name, parameter in model.named_parameters():
        gradient = parameter.grad
        if isinstance(gradient, DTensor):
            # Offloaded shards are gathered on the devices, the only place that NCCL knows.
            gradient = gradient.to(gradient.device_mesh.device_type).full_tensor()
        if gradient is not None:
            exact = torch.promote_types(gradient.dtype, torch.float32)
            found[plain_name(name)] = gradient.detach().to(exact).cpu().clone()
    return found


def hashes(model: nn.Module) -> dict[tuple[object, ...], str]:
    """A hash of each part of a parameter that this rank has; copies have the same key."""
    found = {}
    for name, parameter in model.named_parameters():
        part: tuple[object, ...] = (plain_name(name),)
        values = parameter.detach()
        if isinstance(values, DTensor):
            where = values.device_mesh.get_coordinate() or []
            sharded = [not placement.is_replicate() for placement in values.placements]
            part += tuple(at for at, split in zip(where, sharded, strict=True) if split)
            values = values.to_local()
        raw = values.contiguous().cpu().view(-1).view(torch.uint8)
        found[part] = hashlib.blake2b(raw.numpy().tobytes(), digest_size=16).hexdigest()
    return found


def differences(mine: Trained, reference: Trained | None, group: Group) -> dict[str, Difference]:
    """The differences of this rank's gradients to the reference, which only rank 0 has.

    Rank 0 sends one gradient after another, so that no rank has more than two models in memory.
    """
    sizes: list[dict[str, tuple[torch.Size, torch.dtype]]] = [{}]
    if reference is not None:
        sizes = [{name: (g.shape, g.dtype) for name, g in reference.gradients.items()}]
    if group.world_size > 1:
        dist.broadcast_object_list(sizes, device=group.device)
    found = {}
    for name, (shape, dtype) in sizes[0].items():
        if reference is not None:
            expected = reference.gradients[name].to(group.device)
        else:
            expected = torch.empty(shape, dtype=dtype, device=group.device)
        if group.world_size > 1:
            dist.broadcast(expected, 0)
        if name in mine.gradients:
            right = expected.cpu().double()
            wrong = mine.gradients[name].double() - right
            found[name] = Difference(_squares(wrong), float((wrong * right).sum()))
    return found


def relative_error(found: Mapping[str, Tensor], right: Mapping[str, Tensor]) -> float:
    """|found - right| / |right|, over all gradients of ``right``."""
    difference = sum(_squares(found[name].double() - right[name].double()) for name in right)
    return math.sqrt(difference / max(sum(map(_squares, right.values())), 1e-300))


def _squares(values: Tensor) -> float:
    return float(values.double().square().sum())


def _size(difference: Difference) -> float:
    """The size of a difference; one that is not a number is larger than any other."""
    return math.inf if math.isnan(difference.squares) else difference.squares


def _loss_error(expected: Sequence[float], ranks: Sequence[Sequence[float]]) -> float:
    worst = 0.0
    for k, right in enumerate(expected):
        known = [losses[k] for losses in ranks if not math.isnan(losses[k])]
        loss = sum(known) / len(known) if known else math.nan
        error = abs(loss - right) / max(abs(right), 1e-12)
        worst = error if math.isnan(error) else max(worst, error)
    return worst


def _equal(found: Iterable[Mapping[tuple[object, ...], str]]) -> bool:
    copies: dict[tuple[object, ...], set[str]] = {}
    for parts in found:
        for part, digest in parts.items():
            copies.setdefault(part, set()).add(digest)
    return all(len(digests) == 1 for digests in copies.values())
