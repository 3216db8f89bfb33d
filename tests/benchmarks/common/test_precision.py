import pytest
import torch

from benchmarks.common.failure import UnsupportedError
from benchmarks.common.precision import PRECISIONS, PURE

CPU = torch.device("cpu")
GPU = torch.device("cuda", 0)


@pytest.fixture(autouse=True)
def _restore():
    before = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    yield
    torch.set_float32_matmul_precision(before[0])
    torch.backends.cudnn.allow_tf32 = before[1]


@pytest.mark.parametrize(
    ("name", "result"),
    [
        ("fp32", torch.float32),
        ("fp16", torch.float16),
        ("bf16", torch.bfloat16),
        ("amp", torch.bfloat16),
        ("amp-fp16", torch.float16),
    ],
)
def test_what_a_product_is_computed_in(name, result):
    precision = PRECISIONS[name]
    assert precision.compute_dtype == {"amp": "bf16", "amp-fp16": "fp16"}.get(name, name)
    precision.activate(CPU)
    a = torch.ones(2, 2, dtype=precision.dtype)
    with precision.context(CPU):
        assert (a @ a).dtype is result
    scaler = precision.scaler(CPU, 256.0)
    assert scaler.is_enabled() == (name == "amp-fp16")
    assert scaler.get_scale() == (256.0 if name == "amp-fp16" else 1.0)


def test_tf32_is_on_where_it_is_asked_for_and_off_elsewhere(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (8, 0))
    PRECISIONS["tf32"].activate(GPU)
    assert torch.get_float32_matmul_precision() == "high"
    assert torch.backends.cudnn.allow_tf32
    assert PRECISIONS["tf32"].compute_dtype == "tf32"
    PRECISIONS["fp32"].activate(GPU)
    assert torch.get_float32_matmul_precision() == "highest"
    assert not torch.backends.cudnn.allow_tf32


@pytest.mark.parametrize("name", ["tf32", "bf16", "amp"])
def test_old_tensor_cores_lack(name, monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (7, 5))
    with pytest.raises(
        UnsupportedError, match=f"{name} needs compute capability 8.0, cuda:0 has 7.5"
    ):
        PRECISIONS[name].activate(GPU)


def test_tf32_that_the_environment_forbids_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    monkeypatch.setenv("NVIDIA_TF32_OVERRIDE", "0")
    with pytest.raises(UnsupportedError, match="tf32 is forbidden by the environment"):
        PRECISIONS["tf32"].activate(GPU)
    PRECISIONS["fp32"].activate(GPU)


def test_a_cpu_lacks_tf32():
    with pytest.raises(
        UnsupportedError, match="tf32 is a mode of CUDA's tensor cores: cpu has none"
    ):
        PRECISIONS["tf32"].activate(CPU)


def test_pure_ones_need_no_autocast():
    assert [PRECISIONS[name].autocast for name in PURE] == [None] * 4
