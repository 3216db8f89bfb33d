"""The environment in which a benchmark program is tested."""

import gc
import sys

import pytest
import torch

from tests.support.programs import Wire


@pytest.fixture
def wire(tmp_path, monkeypatch) -> Wire:
    """A real FIFO, in the environment under the name that programs look for."""
    made = Wire(tmp_path / "metrics")
    monkeypatch.setenv("MILABENCH_METRICS", str(made.path))
    return made


@pytest.fixture(autouse=True, scope="module")
def _earlier_tests_are_frozen():
    """Programs collect garbage; to visit what earlier tests imported takes most of their time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    """Threads spin while they wait: those of tests beside each other are more than the cores."""
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _alone(monkeypatch) -> None:
    """No test inherits a supervisor or a torchrun of the person who runs it."""
    of_milabench = ("MILABENCH_METRICS", "MILABENCH_START", "MILABENCH_DEVICE")
    for name in (*of_milabench, "RANK", "LOCAL_RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


@pytest.fixture(autouse=True)
def _no_spare_steps(monkeypatch) -> None:
    """The tests' process is old: programs in it would have time for many steps after theirs."""
    monkeypatch.setattr("benchmarks.common.session.launch_age", float)


@pytest.fixture(autouse=True)
def _no_process_group_is_left():
    """A program that fails leaves its group to die with the process, which here goes on."""
    yield
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_initialized():
        distributed.destroy_process_group()
    # It keeps meshes of groups that are gone, and takes an equal one of a later test for the same.
    if "torch.distributed.tensor" in sys.modules:
        from torch.distributed.tensor.debug import _clear_sharding_prop_cache

        _clear_sharding_prop_cache()
