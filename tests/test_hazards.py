import pytest

from milabench_ddp.hazards import HAZARDS, hazards_in
from milabench_ddp.machine.provenance import of_interest

HARMFUL = {
    "CUDA_LAUNCH_BLOCKING": "1",
    "CUDA_DEVICE_MAX_CONNECTIONS": "1",
    "NCCL_DEBUG": "info",
    "NCCL_P2P_DISABLE": "1",
    "NCCL_IB_DISABLE": "true",
    "PYTORCH_NO_CUDA_MEMORY_CACHING": "0",  # torch asks only whether it is set
    "TORCH_DISTRIBUTED_DEBUG": "DETAIL",
    "TORCH_NCCL_BLOCKING_WAIT": "1",
    "NVIDIA_TF32_OVERRIDE": "0",
}
HARMLESS = {
    "CUDA_LAUNCH_BLOCKING": "0",
    "CUDA_DEVICE_MAX_CONNECTIONS": "8",
    "NCCL_DEBUG": "WARN",
    "NCCL_P2P_DISABLE": "0",
    "NCCL_IB_DISABLE": " ",
    "TORCH_DISTRIBUTED_DEBUG": "OFF",
    "TORCHDYNAMO_DISABLE": "0",
    "NVIDIA_TF32_OVERRIDE": "1",
    "NCCL_ALGO": "Ring",
}


@pytest.mark.parametrize("name", HARMFUL)
def test_a_hazard_is_told_with_its_value(name: str) -> None:
    environ = {**HARMLESS, name: HARMFUL[name]}
    ((setting, effect),) = hazards_in(environ, on_gpu=True, nodes=2)
    assert setting == f"{name}={HARMFUL[name]}"
    assert effect == HAZARDS[name].effect


def test_settings_that_do_no_harm_are_not() -> None:
    assert list(hazards_in(HARMLESS, on_gpu=True, nodes=2)) == []
    assert list(hazards_in({}, on_gpu=True)) == []


def test_what_has_no_effect_here_is_not() -> None:
    assert [setting for setting, _ in hazards_in(HARMFUL, on_gpu=False, nodes=2)] == [
        "TORCH_DISTRIBUTED_DEBUG=DETAIL"
    ]
    settings = [setting for setting, _ in hazards_in(HARMFUL, on_gpu=True)]
    assert len(settings) == len(HARMFUL) - 1
    assert "NCCL_IB_DISABLE=true" not in settings


def test_each_of_them_is_recorded() -> None:
    assert of_interest(dict.fromkeys(HAZARDS, "1")) == dict.fromkeys(sorted(HAZARDS), "1")
