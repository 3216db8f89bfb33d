import gc
import weakref
from collections.abc import Iterator

import pytest

from benchmarks.common import collector


@pytest.fixture(autouse=True)
def _nothing_is_frozen() -> Iterator[None]:
    gc.unfreeze()
    yield
    gc.unfreeze()


class Cycle:
    """Refers to itself, so that only a collection frees it."""

    def __init__(self):
        self.me = self


def test_a_collection_does_not_visit_what_was_there_before():
    before = [[] for _ in range(100_000)]
    with collector.frozen():
        assert len(gc.get_objects()) < 10_000
    assert len(gc.get_objects()) > len(before)
    assert gc.get_freeze_count() < collector.IMMORTAL


def test_what_is_garbage_already_is_freed_first():
    gone = weakref.ref(Cycle())
    with collector.frozen():
        assert gone() is None


def test_garbage_of_a_step_is_freed_within():
    """As checkpointing makes it: 56 objects in each step of a GPT of two blocks."""
    with collector.frozen():
        gone = weakref.ref(Cycle())
        steps = [[] for _ in range(10_000)]  # some collections begin
        assert gone() is None
    assert len(steps) == 10_000


def test_it_ends_with_an_error():
    with pytest.raises(ValueError, match="planted"), collector.frozen():
        raise ValueError("planted")
    assert gc.get_freeze_count() < collector.IMMORTAL


def test_what_was_frozen_before_stays_frozen():
    gc.freeze()
    with collector.frozen():
        pass
    assert gc.get_freeze_count() > collector.IMMORTAL


class Visited:
    """A clock that goes on by the number of objects that a collection would visit."""

    def __init__(self):
        self.ns = 0

    def __call__(self):
        self.ns += len(gc.get_objects()) * 1_000_000
        return self.ns


def test_collections_are_counted_by_step():
    step, clock = 0, iter(range(0, 10**9, 2_000_000))
    seen = collector.Collections(lambda: step, clock.__next__)
    gc.disable()  # those that begin by themselves
    with collector.frozen(seen):
        for step in range(10):
            gc.collect(0)  # of the youngest, which are not counted
            if step in (2, 7):
                gc.collect()
            if step == 7:
                gc.collect(1)
    gc.enable()
    gc.collect()
    assert seen.step_ms == {2: 2.0, 7: 4.0}
    assert seen not in gc.callbacks
    assert seen.told(first=2, count=6)["ms"] == 6.0
    assert seen.told(first=3, count=4) == {}


def test_what_steps_keep_is_visited_until_it_is_frozen():
    seen = collector.Collections(lambda: 0, Visited())
    with collector.frozen(seen):
        kept = [[] for _ in range(50_000)]
        gc.collect()
        seen.try_frozen(loop_ms=1.0)
    assert seen.full_ms > len(kept) > 1000 * seen.frozen_ms
    assert gc.get_freeze_count() < collector.IMMORTAL


def test_collections_that_do_not_matter_are_not_tried():
    seen = collector.Collections(lambda: 0, iter(range(10)).__next__)
    with collector.frozen(seen):
        gc.collect()
        seen.try_frozen(loop_ms=1.0)
    assert (seen.full_ms, seen.frozen_ms) == (None, None)
    assert seen.told(0, 1)["frozen_ms"] is None
