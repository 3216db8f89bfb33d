"""Digests of tensors, and whether they are equal in every pass.

The digest of n elements, whose bits are the whole numbers x_i, is

    sum of x_i * w_i  modulo 2^64,    w_i = (2 i + 1) * 0x9E3779B97F4A7C15

All weights are odd, and an odd number has an inverse modulo 2^64. So if one element changes by d,
the digest changes by d * w_i, which is not 0 for any d between 1 and 2^64 - 1: each change of one
element, and so of one bit, always shows. A change of several elements hides with a probability of
about 2^-64. Addition modulo 2^64 is exact in any order, so the digest itself depends on no kernel.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

WEIGHT = 0x9E3779B97F4A7C15 - 2**64  # odd: 2^64 over the golden ratio, as a signed number
WHOLE = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}  # by bytes of an element
NEVER = 2**62  # a pass that does not come


class Digests:
    """The digests of the tensors of a step, in the order in which they were computed."""

    def __init__(self, device: torch.device) -> None:
        self.names: list[str] = []  # of the last step
        self._found: list[Tensor] = []
        self._weights = torch.empty(0, dtype=torch.int64, device=device)

    def add(self, name: str, values: Tensor) -> None:
        self.names.append(name)
        self._found.append(self.digest(values.detach()))

    def digest(self, values: Tensor) -> Tensor:
        """The digest of a tensor, on its device: shape (), int64."""
        count = values.numel()
        if count > len(self._weights):
            numbers = torch.arange(count, dtype=torch.int64, device=values.device)
            self._weights = (2 * numbers + 1) * WEIGHT
        flat = values.contiguous().view(-1).view(WHOLE[values.element_size()])
        return flat.to(torch.int64, copy=True).mul_(self._weights[:count]).sum()

    def take(self) -> Tensor:
        """The digests since the last call, shape (tensors,), int64; nothing is waited for."""
        taken = torch.stack(self._found)
        self._found.clear()
        return taken

    def start(self) -> None:
        self.names.clear()


class RepeatedPasses:
    """Compares each pass with the first one, on the device."""

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.done = 0  # steps of all passes
        self._first: list[Tensor] = []  # of the first pass, by step
        self._differs: list[Tensor] = []  # by step: the pass in which each tensor differs first
        self._unequal: list[Tensor] = []  # by step: in how many passes some tensor differs

    def take(self, digests: Tensor) -> None:
        """Take the digests of the next step, shape (tensors,)."""
        number, step = divmod(self.done, self.steps)
        self.done += 1
        if not number:
            self._first.append(digests)
            self._differs.append(torch.full_like(digests, NEVER))
            self._unequal.append(torch.zeros((), dtype=torch.int64, device=digests.device))
            return
        differs = digests != self._first[step]
        self._differs[step].masked_fill_(differs & (self._differs[step] == NEVER), number)
        self._unequal[step] += differs.any()

    @property
    def first_is_done(self) -> bool:
        return self.done == self.steps

    def told(self) -> list[list[int]]:
        """The digests of the first pass, by step and tensor."""
        return torch.stack(self._first).tolist()

    def verdict(self, names: Sequence[str]) -> Mapping[str, Any]:
        """How many passes were compared, and where one differed first, if one did."""
        passes = self.done / self.steps
        verdict: dict[str, Any] = {"passes": round(passes, 3), "unequal_steps": 0}
        unequal = int(torch.stack(self._unequal).sum())
        if unequal:
            differs = torch.stack(self._differs).cpu()
            number = int(differs.min())
            step, tensor = map(int, (differs == number).nonzero()[0])
            verdict["unequal_steps"] = unequal
            verdict["first"] = {"pass": number, "step": step, "tensor": names[tensor]}
        return verdict
