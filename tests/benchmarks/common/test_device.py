from types import SimpleNamespace

import pytest
import torch

from benchmarks.common import device
from benchmarks.common.failure import UnsupportedError


def test_cpu():
    picked = device.pick("cpu", local_rank=5)  # ranks share a CPU
    device.bind(picked)
    assert picked == torch.device("cpu")
    assert device.peak_memory(picked) is None


@pytest.fixture
def two_gpus(monkeypatch):
    found = torch.device("cuda")
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda check_available: found)
    monkeypatch.setattr(torch.cuda, "init", lambda: None)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)


def broken(monkeypatch, said):
    """A torch that finds no accelerator, and says why."""

    def init():
        raise RuntimeError(said)

    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda check_available: None)
    monkeypatch.setattr(torch.cuda, "init", init)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


def test_by_hand_the_accelerator_is_the_default(two_gpus, monkeypatch):
    assert device.pick(None, local_rank=1) == torch.device("cuda", 1)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,5")
    wrong = r"^local rank 2 has no cuda device: 2 visible here \(CUDA_VISIBLE_DEVICES=4,5\)$"
    with pytest.raises(UnsupportedError, match=wrong):
        device.pick(None, local_rank=2)


def test_by_hand_a_machine_without_one_is_measured_on_its_cpu(monkeypatch):
    broken(monkeypatch, "Found no NVIDIA driver on your system.")
    assert device.pick(None) == torch.device("cpu")


def test_the_plan_says_what_is_measured(two_gpus, monkeypatch):
    monkeypatch.setenv("MILABENCH_DEVICE", "cpu")
    assert device.pick(None) == device.pick("cpu") == torch.device("cpu")
    monkeypatch.setenv("MILABENCH_DEVICE", "cuda")
    assert device.pick(None, 1) == device.pick("cuda", 1) == torch.device("cuda", 1)


@pytest.mark.parametrize("local_rank", [0, 7])
def test_a_plan_for_gpus_is_never_measured_on_a_cpu(monkeypatch, local_rank):
    broken(monkeypatch, "planted")
    monkeypatch.setenv("MILABENCH_DEVICE", "cuda")
    with pytest.raises(UnsupportedError, match=r"^torch .* cannot use cuda: planted$"):
        device.pick(None, local_rank)


@pytest.mark.parametrize(("option", "planned"), [("cpu", "cuda"), ("cuda", "cpu")])
def test_an_option_does_not_contradict_the_plan(two_gpus, monkeypatch, option, planned):
    monkeypatch.setenv("MILABENCH_DEVICE", planned)
    said = f"^--device {option} is not the device of the plan, MILABENCH_DEVICE={planned}: "
    with pytest.raises(UnsupportedError, match=said):
        device.pick(option)


def test_a_plan_for_a_device_that_no_program_can_measure(monkeypatch):
    monkeypatch.setenv("MILABENCH_DEVICE", "hpu")
    with pytest.raises(UnsupportedError, match=r"^MILABENCH_DEVICE=hpu: this program can measure"):
        device.pick(None)


# What torch says, from c10/cuda/CUDAFunctions.cpp and torch/cuda/__init__.py, and what the user
# reads of it.
REASONS = [
    (
        "The NVIDIA driver on your system is too old (found version 12020). Please update your GPU "
        "driver by downloading and installing a new version from the URL: http://www.nvidia.com/",
        "too old (found CUDA 12.2); update the driver",
    ),
    (
        "Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling"
        " NumCudaDevices() that might have already set an error? Error 802: system not yet "
        "initialized",
        "Error 802: system not yet initialized; start the fabric manager",
    ),
    (
        "Unexpected error from cudaGetDeviceCount(). Error 803: system has unsupported display "
        "driver / cuda driver combination",
        "combination; another libcuda.so.1 than the driver's",
    ),
    ("Torch not compiled with CUDA enabled", "enabled; install a build of torch for this device"),
    ("Found no NVIDIA driver on your system. Please check that", "; libcuda.so.1 cannot be loaded"),
    ("CUDA error: all CUDA-capable devices are busy or unavailable", "; end the other processes"),
    ("CUDA unknown error - this may be due to", "; load the module nvidia-uvm"),
    ("No CUDA GPUs are available", "available; name GPUs that exist in CUDA_VISIBLE_DEVICES"),
    ("NCCL error, NCCL version 2.30.7\nLast error: x", "NCCL version 2.30.7 Last error: x"),
    ("", "RuntimeError"),
]


@pytest.mark.parametrize(("said", "read"), REASONS)
def test_the_reason_is_torchs_own_with_a_remedy(monkeypatch, said, read):
    broken(monkeypatch, said)
    with pytest.raises(UnsupportedError) as refused:
        device.pick("cuda")
    text = str(refused.value)
    assert text.startswith(f"torch {torch.__version__} (for CUDA {torch.version.cuda}) cannot use")
    assert read in text
    assert "Please" not in text
    assert "\n" not in text


@pytest.mark.parametrize(
    ("cuda", "needed"),
    [("12.6", ": CUDA 12 needs 525 or newer,"), ("13.2", ": CUDA 13 needs 580 or")],
)
def test_the_driver_that_torchs_cuda_needs(monkeypatch, cuda, needed):
    monkeypatch.setattr(torch.version, "cuda", cuda)
    broken(monkeypatch, REASONS[0][0])
    with pytest.raises(UnsupportedError, match=f"update the driver{needed}"):
        device.pick("cuda")


def test_peak_memory_is_in_mib(monkeypatch):
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda device: 3 * 2**20)
    monkeypatch.setattr(torch.cuda, "max_memory_reserved", lambda device: 2**22)
    assert device.peak_memory(torch.device("cuda", 0)) == [3.0, 4.0]


def test_a_debug_build_is_refused(monkeypatch):
    device.check_build()
    monkeypatch.setattr(torch.version, "debug", True)
    with pytest.raises(UnsupportedError, match=r"^torch \S+ is a debug build, many times slower"):
        device.check_build()


def test_what_is_told_of_a_cpu():
    told = device.told(torch.device("cpu"))
    assert (told["kind"], told["torch"]) == ("cpu", torch.__version__)
    assert told["threads"] >= 1
    assert not {"uuid", "nccl", "cuda"} & told.keys()


def test_what_is_told_of_a_gpu(monkeypatch):
    found = SimpleNamespace(
        name="NVIDIA H100 80GB HBM3", total_memory=85_017_624_576, major=9, minor=0, uuid="ab-cd"
    )
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: found)
    monkeypatch.setattr(torch.cuda.nccl, "version", lambda: (2, 30, 7))
    monkeypatch.setattr(torch.distributed, "is_nccl_available", lambda: True)
    monkeypatch.setattr(torch.backends.cudnn, "version", lambda: 92600)
    monkeypatch.setattr(torch.version, "cuda", "13.2")
    monkeypatch.setattr(torch.version, "hip", None)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 16)
    monkeypatch.setattr(device.os, "sched_getaffinity", lambda pid: {8, 0, 1, 2, 3, 11, 10})
    expected = {
        "kind": "cuda",
        "threads": 16,
        "cpus": "0-3,8,10-11",
        "torch": torch.__version__,
        "name": "NVIDIA H100 80GB HBM3",
        "memory_mib": 81079,
        "uuid": "GPU-ab-cd",  # as NVML writes it
        "capability": "9.0",
        "cuda": "13.2",
        "cudnn": "9.26.0",
        "nccl": "2.30.7",
    }
    assert device.told(torch.device("cuda", 0)) == expected
    monkeypatch.setattr(torch.version, "hip", "6.4")
    monkeypatch.setattr(torch.version, "cuda", None)
    found.uuid = "38616637-3035-3235-3936-383331363163"  # the bytes of the text 8af705259683161c
    told = device.told(torch.device("cuda", 0))
    assert told == {k: v for k, v in expected.items() if k not in ("cuda", "cudnn")} | {
        "hip": "6.4",
        "uuid": "GPU-8af705259683161c",  # as rocm_smi and rocminfo write it
    }
