"""The optimizer of a strategy, over plain and sharded parameters."""

import argparse
from collections.abc import Iterable

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.tensor import DTensor, Partial

from benchmarks.common.marks import Waits
from benchmarks.common.strategies.parameters import local

OPTIMIZERS = ("sgd", "adamw")


class Optimizer:
    """SGD with momentum, or AdamW, over parameters of any placement."""

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        args: argparse.Namespace,
        stages: dist.ProcessGroup | None = None,
    ) -> None:
        """Update ``parameters`` as ``--optimizer``, ``--lr`` and ``--clip-norm`` say.

        ``stages`` are the ranks that have the other parameters of the model, in a pipeline.
        """
        groups = _by_mesh(parameters)
        self._clip_norm, self._stages = args.clip_norm, stages
        sharded = any(isinstance(p, DTensor) for group in groups for p in group["params"])
        self.name = str(args.optimizer)
        # PyTorch's own choice for a ``DTensor`` would be a loop, or foreach on a GPU. It has a rule
        # for the fused kernel of AdamW, but none for that of SGD. On a CPU that of PyTorch 2.11
        # leaves most of a parameter in 16 bits as it was.
        without_fused = self.name == "sgd" and (sharded or _on_cpu_in_16_bits(groups))
        self.waits: Waits | None = None  # marks what the norm of sharded gradients waits for
        self.implementation = "foreach" if without_fused else "fused"
        how = {self.implementation: True}
        if self.name == "sgd":
            self._torch: torch.optim.Optimizer = torch.optim.SGD(
                groups, args.lr, momentum=0.9, **how
            )
        else:
            self._torch = torch.optim.AdamW(groups, args.lr, **how)

    def metrics(self) -> dict[str, str]:
        """Which optimizer, and how it goes over the parameters: one kernel for all, or several."""
        return {"optimizer_implementation": f"{self.name}, {self.implementation}"}

    def step(self, scaler: torch.amp.GradScaler) -> None:
        """Update the parameters, and drop the gradients."""
        if self._clip_norm is not None:
            scaler.unscale_(self._torch)
            parameters = [p for group in self._torch.param_groups for p in group["params"]]
            if self.waits is not None:
                self.waits.begin()
            clip(parameters, self._clip_norm, self._stages)
            if self.waits is not None:
                self.waits.end()
        if self.name == "sgd" and scaler.is_enabled() and not self._torch.state:
            # The fused kernel allocates the momentum in its first step, and where the gradients
            # overflow in that step, leaves in it whatever the memory held.
            for parameter in (p for group in self._torch.param_groups for p in group["params"]):
                self._torch.state[parameter]["momentum_buffer"] = torch.zeros_like(parameter)
        scaler.step(self._torch)
        scaler.update()
        self._torch.zero_grad()


@torch.no_grad()
def clip(
    parameters: Iterable[nn.Parameter], limit: float, stages: dist.ProcessGroup | None = None
) -> None:
    """Scale all gradients so that their norm, over all ranks, is at most ``limit``.

    As torch.nn.utils.clip_grad_norm_ (Pascanu et al. 2013), which takes one mesh alone. ``stages``
    have other parameters, in a pipeline. Nothing waits for the device.
    """
    by_placement: dict[object, list[Tensor]] = {}
    for parameter in parameters:
        gradient = parameter.grad
        if isinstance(gradient, DTensor):
            gradient = parameter.grad = gradient.redistribute(placements=parameter.placements)
            by_placement.setdefault((gradient.device_mesh, gradient.placements), []).append(
                gradient
            )
        elif gradient is not None:
            by_placement.setdefault(None, []).append(gradient)
    total = torch.stack([_squares(gradients) for gradients in by_placement.values()]).sum()
    if stages is not None:
        dist.all_reduce(total, group=stages)
    factor = (limit / (total.sqrt() + 1e-6)).clamp(max=1.0)
    for gradients in by_placement.values():
        parts = [local(gradient) for gradient in gradients]
        torch._foreach_mul_(parts, factor.to(parts[0]))  # of one type: else a kernel for each part


def _squares(gradients: list[Tensor]) -> Tensor:
    """The sum of squares of gradients of one placement, over its mesh, in fp32 at least."""
    first, parts = gradients[0], [local(gradient) for gradient in gradients]
    exact = torch.promote_types(first.dtype, torch.float32)
    total = torch.stack(torch._foreach_norm(parts, 2.0, exact)).square().sum()
    if not isinstance(first, DTensor):
        return total
    mesh = first.device_mesh
    shares = [each if each.is_replicate() else Partial() for each in first.placements]
    # Offloaded shards add up on the devices, the only place that NCCL knows.
    return DTensor.from_local(total.to(mesh.device_type), mesh, shares).full_tensor()


def _on_cpu_in_16_bits(groups: Iterable[dict[str, list[nn.Parameter]]]) -> bool:
    parameters = [p for group in groups for p in group["params"]]
    return any(p.device.type == "cpu" and p.dtype.itemsize == 2 for p in parameters)


def _by_mesh(parameters: Iterable[nn.Parameter]) -> list[dict[str, list[nn.Parameter]]]:
    groups: dict[object, list[nn.Parameter]] = {}
    for parameter in parameters:
        mesh = parameter.device_mesh if isinstance(parameter, DTensor) else None
        groups.setdefault(mesh, []).append(parameter)
    return [{"params": group} for group in groups.values()]
