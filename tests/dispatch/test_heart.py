import threading

import pytest

from milabench_ddp.dispatch.heart import beating


def test_it_beats_within_its_block_and_not_after_it() -> None:
    beats, third = [], threading.Event()

    def beat() -> None:
        beats.append(threading.current_thread())
        if len(beats) == 3:
            third.set()

    with beating(beat, 0.01):
        assert third.wait(10)
    assert threading.current_thread() not in beats
    assert not any(thread.is_alive() for thread in beats)


def test_an_error_in_its_block_ends_it_too() -> None:
    before = threading.active_count()
    with pytest.raises(ValueError, match="of the block"), beating(lambda: None, 60.0):
        raise ValueError("of the block")
    assert threading.active_count() == before
