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
    assert gc.get_freeze_count() == 0


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
    assert gc.get_freeze_count() == 0


def test_what_was_frozen_before_stays_frozen():
    gc.freeze()
    with collector.frozen():
        pass
    assert gc.get_freeze_count() > 0
