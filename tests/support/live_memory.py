"""Measures the peak memory of operations, in bytes."""

from weakref import WeakValueDictionary

from torch import Tensor
from torch.distributed.tensor import DTensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Live(TorchDispatchMode):
    """Counts the bytes of storages that operations allocate on the CPU, while they exist."""

    def __init__(self):
        super().__init__()
        self.peak = 0
        self._storages = WeakValueDictionary()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        for value in tree_leaves(out):
            if isinstance(value, DTensor):
                value = value._local_tensor
            if type(value) is Tensor and value.device.type == "cpu":
                storage = value.untyped_storage()
                self._storages[storage._cdata] = storage
        self.peak = max(self.peak, sum(s.nbytes() for s in self._storages.values()))
        return out
