"""Marks of DDP's backward pass: when the gradients of each bucket are there on this rank.

DDP reduces a bucket as soon as this rank has its last gradient, and the backward pass ends when all
buckets are reduced. So after the last gradient of all a rank only communicates, or waits for other
ranks: ``Waits`` marks this. The hooks are on the parameters and not in DDP, whose communication is
as it would be without them, also with a communication hook, ``no_sync`` and a static graph.

DDP may send buffers from rank 0 before a forward pass: between a hook on DDP and one on the module
in it. What a rank waits there is marked, too.

A hook costs the host a few microseconds. So it is on every parameter only until the order in which
their gradients come is known, and then on the last one of each bucket. Under
``find_unused_parameters`` the order may change, and DDP keeps its first buckets: there the hooks
stay on every parameter.
"""

from collections.abc import Callable, Collection
from functools import partial

import torch
from torch.nn.parallel import DistributedDataParallel
from torch.utils.hooks import RemovableHandle

from benchmarks.common.marks import Waits

BUCKETS = "rebuilt_per_bucket_param_indices"  # such as "3 2, 1 0"


class GradientMarks:
    """Marks the end of this rank's own work in each backward pass."""

    def __init__(self, model: DistributedDataParallel, waits: Waits) -> None:
        self._model, self._waits = model, waits
        # The parameters by DDP's numbers, which has none for those without a gradient.
        self._parameters = [p for p in model.module.parameters() if p.requires_grad]
        self._came: list[int] = []  # in this pass, in the order of time
        self._came_before: list[int] = []  # in the pass before it
        self._is_learning = model.static_graph or not model.find_unused_parameters
        self._hooks: list[tuple[torch.Tensor, Callable[[torch.Tensor], None]]] = []
        self._handles: list[RemovableHandle] = []
        for number, parameter in enumerate(self._parameters):
            hook = partial(self._arrived, number) if self._is_learning else self._mark
            self._hooks.append((parameter, hook))
        self.put_on()
        waits.hooks.append(self)
        if model.will_sync_module_buffers() and model.module._compiled_call_impl is None:
            # Hooks on a compiled module would be compiled with it.
            model.register_forward_pre_hook(lambda *_: waits.begin_anew())
            model.module.register_forward_pre_hook(lambda *_: waits.end(), prepend=True)

    def put_on(self) -> None:
        for parameter, hook in self._hooks:
            self._handles.append(parameter.register_post_accumulate_grad_hook(hook))

    def take_off(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def passed(self) -> None:
        if not self._is_learning:
            return
        last = self._last_of_buckets() if self._came == self._came_before else ()
        if last:
            self._is_learning = False
            self.take_off()
            self._hooks = [(self._parameters[number], self._mark) for number in last]
            self.put_on()
        self._came, self._came_before = [], self._came

    def _arrived(self, number: int, _: torch.Tensor) -> None:
        self._waits.begin_anew()
        self._came.append(number)

    def _mark(self, _: torch.Tensor) -> None:
        self._waits.begin_anew()

    def _last_of_buckets(self) -> Collection[int]:
        """The last parameter of each bucket; none as long as DDP does not tell its buckets."""
        places = {number: place for place, number in enumerate(self._came)}
        last = set()
        for bucket in str(self._model._get_ddp_logging_data().get(BUCKETS, "")).split(","):
            arrived = [number for number in map(int, bucket.split()) if number in places]
            if arrived:
                last.add(max(arrived, key=places.__getitem__))
        return last
