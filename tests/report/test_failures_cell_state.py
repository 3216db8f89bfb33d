"""The state of a benchmark in a cell of a sweep, from the words of its failure."""

from pathlib import Path

import pytest

from milabench_ddp.config.schema import SkippedBenchmark
from milabench_ddp.launch.causes import with_kernel
from milabench_ddp.report.failures import CellState, cell_state
from milabench_ddp.report.model import NAN, Failure, Report, Row
from milabench_ddp.report.run_info import RunInfo

HEAD = "Traceback (most recent call last):"
FRAME = '  File "main.py", line 5, in main'
CUDA = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
STEP = "n1 is gone: srun: error: slurmstepd: error: StepId=1.0 exceeded memory limit (9 > 1)"
NUMPY = "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 7.28 TiB for an array"
ALLOCATOR = "RuntimeError: [enforce fail] DefaultCPUAllocator: can't allocate memory: you tried"
FORK = "OSError: [Errno 12] Cannot allocate memory"
KERNEL = with_kernel("killed by SIGKILL", 1)
ROW = Row("b", 1, 1, 1, NAN, NAN, NAN, NAN, NAN, 0.0)


def of(outcome: str, reason: str, *lines: str) -> CellState | None:
    return cell_state(
        Report(False, (), (), (Failure("b", "r", "b.0", outcome, reason, 1, lines),)), ROW
    )


@pytest.mark.parametrize(
    ("outcome", "reason", "lines", "shown"),
    [
        ("failed", "exit status 1", (HEAD, "KeyError: 1", ""), ("Traceback", "KeyError: 1")),
        ("failed", "", (f"[rank1]: {HEAD}", "[rank1]: E: x"), ("Traceback", "E: x")),
        ("failed", "", (HEAD, FRAME, "E: x", "", "Set VERBOSE=1"), ("Traceback", "E: x")),
        ("failed", "", (HEAD, FRAME, "E: first", "During it", HEAD, "E: x"), ("Traceback", "E: x")),
        ("failed", "", ("    cut()", FRAME, "    x", "E: x"), ("Traceback", "E: x")),
        ("failed", "rank 3: ValueError: bad", (), ("Traceback", "rank 3: ValueError: bad")),
        ("failed", "exit status 3", ("out of patience",), ("failed", "exit status 3")),
        ("failed", "", ("last words",), ("failed", "last words")),
        ("failed", "killed by SIGSEGV", (), ("failed", "killed by SIGSEGV")),
        ("failed", "exit status 1", (HEAD, CUDA), ("oom", CUDA)),
        ("failed", "rank 0: torch.OutOfMemoryError: x", (), None),
        ("failed", "Slurm: OUT_OF_MEMORY", (), ("oom", "Slurm: OUT_OF_MEMORY")),
        ("failed", "1 oom_kill event in step 3.0", (), ("oom", "1 oom_kill event in step 3.0")),
        ("failed", "", (HEAD, "KeyError: room"), ("Traceback", "KeyError: room")),
        ("failed", "exit status 1", (HEAD, "MemoryError"), ("oom", "MemoryError")),
        ("failed", "rank 1: MemoryError", (), ("oom", "rank 1: MemoryError")),
        ("failed", "killed by SIGABRT", ("what():  std::bad_alloc",), ("oom", "killed by SIGABRT")),
        ("failed", "", (HEAD, NUMPY), ("oom", NUMPY)),
        ("failed", "", (HEAD, ALLOCATOR), ("oom", ALLOCATOR)),
        ("failed", "", (HEAD, FORK), ("oom", FORK)),
        ("failed", f"rank 1: {KERNEL}", (), ("oom", f"rank 1: {KERNEL}")),
        ("failed", "node1 is gone: Out Of Memory", (), ("oom", "node1 is gone: Out Of Memory")),
        ("failed", "its job ended: OUT_OF_MEMORY", (), ("oom", "its job ended: OUT_OF_MEMORY")),
        ("failed", STEP, (), ("oom", STEP)),
        ("lost", STEP, (), ("lost", STEP)),  # the recorded outcome decides
        ("failed", "no file (see /oom/n.log)", (), ("failed", "no file (see /oom/n.log)")),
        ("timeout", "longer than 9 s", (HEAD, CUDA), ("timeout", "longer than 9 s")),
        ("lost", "node 3 does not answer", ("x",), ("lost", "node 3 does not answer")),
        ("cancelled", "stopped by SIGINT", (), ("cancelled", "stopped by SIGINT")),
    ],
)  # fmt: skip
def test_a_failure(
    outcome: str, reason: str, lines: tuple[str, ...], shown: tuple[str, str] | None
) -> None:
    assert of(outcome, reason, *lines) == CellState(*(shown or ("oom", reason)))


UNABLE = SkippedBenchmark("b", "it needs 8 GPUs")


@pytest.mark.parametrize(
    ("run", "shown"),
    [
        ({"running": ("b",)}, CellState("running")),
        ({"waiting": ("b",)}, CellState("waiting..")),
        ({"skipped": (UNABLE,)}, CellState("skipped", "it needs 8 GPUs")),
        ({"waiting": ("b",), "outcome": "ok"}, None),
        ({"running": ("c",)}, None),
    ],
)
def test_what_has_not_ended(run: dict[str, object], shown: CellState | None) -> None:
    info = RunInfo("r", Path("r"), **{"outcome": None, **run})  # type: ignore[arg-type]
    row = Row("b", 0, 0, 0, NAN, NAN, NAN, NAN, NAN, 0.0)
    assert cell_state(Report(False, (info,), ()), row) == shown


@pytest.mark.parametrize(
    "said",
    [
        "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "RuntimeError: CUDA error: HIPBLAS_STATUS_ALLOC_FAILED",
        "RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
        "RuntimeError: cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED",
        "torch.AcceleratorError: CUDA error: out of memory",
        "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB.",
        "RuntimeError: HIP error: out of memory",
        "RuntimeError: rocblas_status_memory_error",
        "RuntimeError: miopenStatusAllocFailed",
        "DistBackendError: NCCL error: Last error: Cuda failure 2 'out of memory'",
        "torch.distributed.DistBackendError: NCCL error: Failed to CUDA calloc async 24 bytes",
        "RuntimeError: Triton Error [CUDA]: out of memory",
        "RuntimeError: level_zero backend failed with error: UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY",
    ],
)
def test_every_library_of_a_gpu_can_run_out_of_memory(said: str) -> None:
    assert of("failed", "exit status 1", HEAD, FRAME, said) == CellState("oom", said)


@pytest.mark.parametrize(
    "said",
    [
        "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED",
        "triton.OutOfResources: out of resource: shared memory, Required: 274432, limit: 232448",
        "torch.distributed.DistBackendError: No space left on device (/dev/shm)",
    ],
)
def test_what_is_not_known_to_be_memory_is_not_called_so(said: str) -> None:
    assert of("failed", "exit status 1", HEAD, FRAME, said) == CellState("Traceback", said)
