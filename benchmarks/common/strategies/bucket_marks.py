"""Marks of DDP's buckets: when each is ready on this rank, and when it is reduced.

A communication hook sees both, but one that only watches costs a percent or two. So a model without
a hook gets one when its buckets are first watched, after the measured steps; one that has a hook
gets it wrapped, and outside of watched passes the wrapper only calls it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial, wraps
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from benchmarks.common.clocks import Clock

Sent = torch.futures.Future[torch.Tensor]
Hook = Callable[[Any, dist.GradBucket], Sent]


@dataclass
class Bucket:
    """The marks of a bucket in one backward pass."""

    bytes: int  # of its gradients
    ready: Any  # this rank has all of them
    reduced: Any = None  # they are averaged over the ranks


@dataclass
class Pass:
    """The marks of a backward pass: of a step with several, those of the last."""

    begin: Any = None
    buckets: list[Bucket] = field(default_factory=list)  # in the order in which they are reduced


class BucketMarks:
    """Marks the backward passes of a model, and its buckets, in the steps that are watched."""

    def __init__(
        self, model: DistributedDataParallel, hook: Hook | None = None, state: Any = None
    ) -> None:
        self.model, self._has_hook = model, hook is not None
        self._clock: Clock | None = None  # while a step is watched
        self._pass, self._with_buckets = Pass(), False
        if hook is not None:
            model.register_comm_hook(state, self._wrapped(hook))

    @contextmanager
    def watched(self, clock: Clock, *, buckets: bool) -> Iterator[Pass]:
        """Mark the step in the block by ``clock``: where its backward pass begins, and its buckets.

        From the first step with ``buckets`` on, the model has a communication hook.
        """
        if buckets and not self._has_hook:
            self._has_hook = True
            self.model.register_comm_hook(None, self._average)
        self._clock, self._pass, self._with_buckets = clock, Pass(), buckets
        yield self._pass
        self._clock = None

    def begins(self) -> None:
        if self._clock is not None:
            self._pass.begin = self._clock.mark()

    def _ready(self, bucket: dist.GradBucket) -> Callable[[], None] | None:
        """Mark that a bucket is ready; what is returned marks that it is reduced."""
        clock = self._clock
        if clock is None or not self._with_buckets:
            return None
        seen = Bucket(bucket.buffer().nbytes, clock.mark())
        self._pass.buckets.append(seen)

        def reduced() -> None:  # on a GPU, the current stream is then one that waits for this
            seen.reduced = clock.mark()

        return reduced

    def _wrapped(self, hook: Hook) -> Hook:
        @wraps(hook)  # DDP looks at its name and at its annotations
        def wrapped(state: Any, bucket: dist.GradBucket) -> Sent:
            reduced = self._ready(bucket)
            sent = hook(state, bucket)
            return sent if reduced is None else sent.then(partial(_value, reduced))

        return wrapped

    def _average(self, _: Any, bucket: dist.GradBucket) -> Sent:
        group = self.model.process_group
        # DDP divides as it copies the gradients into the bucket, which is not communication.
        gradients = bucket.buffer().div_(group.size())
        reduced = self._ready(bucket)
        sent = dist.all_reduce(gradients, group=group, async_op=True).get_future()

        return sent.then(lambda sent: _value(reduced, sent)[0])


def _value(then: Callable[[], None] | None, sent: Sent) -> Any:
    if then is not None:
        then()
    return sent.value()
