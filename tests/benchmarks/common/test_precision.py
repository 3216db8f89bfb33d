from types import SimpleNamespace

import pytest
import torch

from benchmarks.common.failure import SkippedError, UnsupportedError
from benchmarks.common.precision import PRECISIONS, PURE, fp8_type

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
    with pytest.raises(SkippedError, match=f"{name} needs compute capability 8.0, cuda:0 has 7.5"):
        PRECISIONS[name].activate(GPU)


def test_tf32_that_the_environment_forbids_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    monkeypatch.setenv("NVIDIA_TF32_OVERRIDE", "0")
    with pytest.raises(UnsupportedError, match="tf32 is forbidden by the environment"):
        PRECISIONS["tf32"].activate(GPU)
    PRECISIONS["fp32"].activate(GPU)


@pytest.fixture
def amd(monkeypatch):
    """Makes the GPU one of AMD, of this architecture, under this version of ROCm."""

    def of(arch, rocm="7.0.51831"):
        monkeypatch.setattr(torch.version, "hip", rocm)
        properties = SimpleNamespace(gcnArchName=f"{arch}:sramecc+:xnack-")
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: properties)

    return of


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_amd_gpus_with_tf32(amd, arch):
    amd(arch)
    PRECISIONS["tf32"].activate(GPU)


@pytest.mark.parametrize("arch", ["gfx90a", "gfx1100", "gfx1201"])
def test_amd_gpus_without_tf32(amd, arch):
    amd(arch)
    with pytest.raises(SkippedError, match=f"an AMD GPU of CDNA 3 or later, not {arch}$"):
        PRECISIONS["tf32"].activate(GPU)
    PRECISIONS["bf16"].activate(GPU)


@pytest.mark.parametrize(
    ("arch", "rocm", "kind"),
    [
        ("gfx942", "6.2.1", torch.float8_e4m3fnuz),
        ("gfx950", "7.0.0", torch.float8_e4m3fn),
        ("gfx1201", "6.5.0", torch.float8_e4m3fn),
    ],
)
def test_fp8_of_amd(amd, arch, rocm, kind):
    amd(arch, rocm)
    assert fp8_type(GPU) is kind


@pytest.mark.parametrize(("arch", "rocm"), [("gfx90a", "7.0.0"), ("gfx1201", "6.4.43482")])
def test_amd_gpus_without_fp8(amd, arch, rocm):
    amd(arch, rocm)
    with pytest.raises(SkippedError, match=f"^{arch} has no fp8 under ROCm {rocm}$"):
        fp8_type(GPU)


def test_a_cpu_lacks_tf32():
    with pytest.raises(SkippedError, match="tf32 is a mode of CUDA's tensor cores: cpu has none"):
        PRECISIONS["tf32"].activate(CPU)


def test_pure_ones_need_no_autocast():
    assert [PRECISIONS[name].autocast for name in PURE] == [None] * 4
