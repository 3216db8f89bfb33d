"""The memory that operations take while they run, and its peak, by the storages that they make."""

from typing import Any
from weakref import finalize

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Allocated(TorchDispatchMode):
    """Counts the bytes of all storages on a kind of device, while they exist, and their peak.

    It counts those of fake tensors as well: they take no memory, and need no such device.
    """

    def __init__(self, kind: str = "cpu") -> None:
        super().__init__()
        self.now = self.peak = 0
        self._kind = kind
        self._sizes: dict[int, int] = {}

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if DTensor in types:
            return NotImplemented
        out = function(*args, **(kwargs or {}))
        for value in tree_leaves(out):
            if isinstance(value, Tensor) and value.device.type == self._kind:
                self.see(value.untyped_storage())
        return out

    def see(self, storage: torch.UntypedStorage) -> None:
        """Count a storage, by the size that it has now."""
        key = storage._cdata
        if key not in self._sizes:
            finalize(storage, self._resized, key, 0).atexit = False
        self._resized(key, storage.nbytes())

    def knows(self, storage: torch.UntypedStorage) -> bool:
        return storage._cdata in self._sizes

    def _resized(self, key: int, size: int) -> None:
        self.now += size - self._sizes.pop(key, 0)
        if size:
            self._sizes[key] = size
        self.peak = max(self.peak, self.now)
