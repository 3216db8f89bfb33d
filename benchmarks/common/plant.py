"""Faults that are planted on purpose, so that it can be seen whether they are found.

    MILABENCH_PLANT=slow:0.1@node3,hang:20@2/1

is a list of ``fault:value@node/device``. A node is named by its name, or by its rank in the run; a
device by its local rank, or as the variable for visible devices does. Without them all have it.

    slow:SHARE       each step or call takes so much longer, by more work of the device
    delay_link:MS    a message takes so much longer between two nodes, by their ranks: 5@1..2
    flip:STEP        the last bit of a product flips once, in a step of ``bits``
    flip_always:STEP the same in each pass
    hang:STEP        nothing goes on from this step on
    exit:STEP        the process ends without a word
    nan:STEP         from this step on the loss is NaN
    disk:STEP        a file is written where no space is left

Steps are counted from 0, warm-up first. ``env`` and ``kill`` are for agents, which heed them, and
``nothing`` is for runs to compare with. What is planted in a process is told in its metric lines:
no such run can be taken for a real one.
"""

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

import torch
from torch import Tensor

from benchmarks.common.clocks import clock_of
from benchmarks.common.failure import UnsupportedError
from benchmarks.common.metrics import Emitter

VARIABLE = "MILABENCH_PLANT"
NODE_RANK = "MILABENCH_NODE_RANK"
OF_STEPS = ("slow", "hang", "exit", "nan", "disk", "flip", "flip_always")
OF_LINKS = ("delay_link",)
OF_OTHERS = ("env", "kill", "nothing")
KINDS = (*OF_STEPS, *OF_LINKS, *OF_OTHERS)
LINK = re.compile(r"(\d+)\.\.(\d+)")  # the ranks of its two nodes
SIDE = 256  # of the matrices whose products are the work of ``slow``
PRODUCTS = 20  # that tell how long one takes
TIMED = range(1, 4)  # the steps that tell how long one takes, after the first

Batch = TypeVar("Batch")


@dataclass(frozen=True)
class Plant:
    """A fault, and where it is planted."""

    text: str
    kind: str
    value: str
    node: str = ""  # empty: all
    device: str = ""  # empty: all

    @property
    def number(self) -> float:
        return float(self.value or 0)

    @property
    def link(self) -> set[int]:
        """The ranks of the two nodes of a link."""
        found = LINK.fullmatch(self.node)
        return {int(found[1]), int(found[2])} if found else set()


def parsed(text: str) -> list[Plant]:
    """The faults of a text; raises ``UnsupportedError`` for one that does not exist."""
    found = []
    for each in filter(None, text.split(",")):
        what, _, where = each.partition("@")
        kind, _, value = what.partition(":")
        node, _, device = where.partition("/")
        plant = Plant(each, kind, value, node, device)
        if kind not in KINDS:
            raise UnsupportedError(f"{VARIABLE}={text}: {kind!r} is not one of {', '.join(KINDS)}")
        try:
            is_number = kind in OF_OTHERS or plant.number >= 0
        except ValueError:
            is_number = False
        if not is_number or (kind in OF_LINKS and not plant.link):
            raise UnsupportedError(f"{VARIABLE}={text}: {each!r} is not {usage(kind)}")
        found.append(plant)
    return found


def usage(kind: str) -> str:
    """How a fault is written, after ``is not``."""
    value = {"slow": "a share of a step", "delay_link": "milliseconds"}.get(kind, "a step")
    where = "@RANK..RANK" if kind in OF_LINKS else ""
    return f"{kind}:NUMBER{where}, where the number is {value}"


class Plants:
    """The faults of this process, which its loops heed."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self._node, self._node_rank = environ.get("MILABENCH_NODE", ""), environ.get(NODE_RANK, "0")
        self._local_ranks = int(environ.get("LOCAL_WORLD_SIZE", "1"))
        visible = ("LOCAL_RANK", "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ZE_AFFINITY_MASK")
        device = next((environ[name] for name in visible if name in environ), "")
        planted = parsed(environ.get(VARIABLE, ""))
        self._links = [each for each in planted if each.kind in OF_LINKS]
        self._here = {
            each.kind: each
            for each in planted
            if each.kind in OF_STEPS
            and each.node in ("", self._node, self._node_rank)
            and each.device in ("", device)
        }
        self._step = -1

    def tell(self, emitter: Emitter) -> None:
        """Tell what is planted here, so that nobody takes it for a fault of the machine."""
        links = [each for each in self._links if int(self._node_rank) in each.link]
        for each in [*self._here.values(), *links]:
            emitter.data("main", planted={"fault": each.text, "node": self._node})

    def steps(self, timed: Iterator[Batch], device: torch.device) -> Iterator[Batch]:
        """The same batches; what is planted happens at the beginning of the body of its step."""
        return self._struck(timed, device) if self._here else timed

    def _struck(self, timed: Iterator[Batch], device: torch.device) -> Iterator[Batch]:
        slower = self._slower(device)
        for batch in timed:
            self._step += 1
            self._strike()
            slower.begin()
            yield batch
            slower.end()

    def called(self, call: Callable[[], object], device: torch.device) -> Callable[[], object]:
        """The same call; what is planted happens before it."""
        if not self._here:
            return call
        slower = self._slower(device)

        def planted() -> None:
            self._step += 1
            self._strike()
            slower.begin()
            call()
            slower.end()

        return planted

    def loss(self, loss: Tensor) -> Tensor:
        return loss * float("nan") if self._is_due("nan", self._step, once=False) else loss

    def flips(self, step: int, steps: int) -> bool:
        """Whether a bit flips in a step of all passes of ``steps``."""
        return self._is_due("flip", step) or self._is_due("flip_always", step % steps)

    def over_link(
        self, call: Callable[[], object], ranks: Sequence[int], device: torch.device
    ) -> Callable[[], object]:
        """The same call, which is a message between two ranks; a planted link delays it."""
        nodes = {rank // self._local_ranks for rank in ranks}  # ranks are in the order of nodes
        ms = sum(each.number for each in self._links if each.link == nodes)
        if not ms:
            return call
        clock = clock_of(device)

        def delayed() -> None:
            if clock.can_hold:
                clock.hold(ms)
            else:
                time.sleep(ms / 1e3)  # as a wait for a link, it takes no core from others
            call()

        return delayed

    def _slower(self, device: torch.device) -> "Slower":
        slow = self._here.get("slow")
        return Slower(slow.number if slow else 0.0, device)

    def _is_due(self, kind: str, step: int, *, once: bool = True) -> bool:
        plant = self._here.get(kind)
        if plant is None:
            return False
        return step == plant.number if once else step >= plant.number

    def _strike(self) -> None:
        if self._is_due("exit", self._step):
            os._exit(1)
        while self._is_due("hang", self._step):
            time.sleep(1)
        if self._is_due("disk", self._step):
            with open("/dev/full", "w") as full:  # the kernel's own word for it
                full.write("what does not fit")


class Slower:
    """Makes steps longer by a share, with work of the device: a sleep would give others its cores.

    The work is products of small matrices, for as long as this share of the first steps. A CPU does
    them while it is called; for other devices one counts for what it took at first.
    """

    def __init__(self, share: float, device: torch.device) -> None:
        self._share, self._clock = share, clock_of(device)
        self._is_host = device.type == "cpu"
        self._matrix = torch.zeros(SIDE, SIDE, device=device)
        self._seen = 0  # steps
        self._step_ms: list[float] = []
        self._product_ms = self._more_ms = 0.0  # of one, and for each step
        self._owed_ms = 0.0

    def begin(self) -> None:
        """Work, at the beginning of a step."""
        if not self._share:
            return
        if self._seen in TIMED:
            self._mark = self._clock.mark()
        self._owed_ms += self._more_ms
        while self._owed_ms > 0:
            if self._is_host:
                begin = self._clock.mark()
                torch.mm(self._matrix, self._matrix)
                self._owed_ms -= self._until_now(begin)
            else:
                torch.mm(self._matrix, self._matrix)
                self._owed_ms -= self._product_ms

    def end(self) -> None:
        """Learn how long the first steps take."""
        if not self._share:
            return
        if self._seen in TIMED:
            self._step_ms.append(self._until_now(self._mark))
        if self._seen == TIMED[-1]:
            torch.mm(self._matrix, self._matrix)  # the first takes longer
            begin = self._clock.mark()
            for _ in range(PRODUCTS):
                torch.mm(self._matrix, self._matrix)
            self._product_ms = max(self._until_now(begin) / PRODUCTS, 1e-6)
            self._more_ms = self._share * median(self._step_ms)
        self._seen += 1

    def _until_now(self, begin: object) -> float:
        now = self._clock.mark()
        self._clock.wait(now)
        return self._clock.milliseconds(begin, now)
