"""A GPU that is not there: what programs ask of it before they build anything."""

from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import torch
import torch.cuda.amp.common

from benchmarks.common import fitting
from benchmarks.common.group import Group

GPU = torch.device("cuda", 0)


@contextmanager
def fake_gpu(gib, ranks=1, *, capability=(9, 0), host=2048):
    """The group of rank 0 of ``ranks``, each on a GPU of ``gib`` GiB."""
    sizes = {"cuda": gib * fitting.GIB, "cpu": host * fitting.GIB}
    with ExitStack() as patched:
        for owner, name, value in (
            (fitting, "capacity", lambda device: sizes[device.type]),
            (torch.cuda, "get_device_capability", lambda *_: capability),
            (torch.cuda, "is_bf16_supported", lambda *_, **__: True),
            (torch.cuda.amp.common, "amp_definitely_not_available", lambda: False),
        ):
            patched.enter_context(patch.object(owner, name, value))
        yield Group(GPU, 0, ranks)
