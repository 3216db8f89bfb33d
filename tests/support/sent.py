"""What collectives send: how often, and how many bytes."""

from collections import defaultdict

from torch import Tensor
from torch.distributed.tensor import DTensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

COLLECTIVES = ("c10d", "_c10d_functional")
WAITS = ("wait_tensor", "wrap_tensor_autograd")


class Sent(TorchDispatchMode):
    """The collectives of the block: by their name, the bytes of the largest tensor of each."""

    def __init__(self):
        super().__init__()
        self.sizes = defaultdict(list)

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if DTensor in types:
            return NotImplemented
        out = function(*args, **(kwargs or {}))
        name = function.name().split("::")[1].split(".")[0].strip("_")
        if function.namespace in COLLECTIVES and name not in WAITS:
            found = [x for x in tree_leaves((args, out)) if isinstance(x, Tensor)]
            self.sizes[name].append(max(x.numel() * x.element_size() for x in found))
        return out

    @property
    def largest(self):
        return max(max(sizes) for sizes in self.sizes.values())
