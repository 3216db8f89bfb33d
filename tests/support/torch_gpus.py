"""GPUs that a stand-in for torch finds, in the processes that are asked for them."""

import json
from pathlib import Path

FAKE = Path(__file__).parents[1] / "fakes" / "torch_gpus"
H100 = {"name": "NVIDIA H100", "total_memory": 80 << 30, "major": 9, "minor": 0}
MI300X = {"name": "AMD Instinct MI300X", "total_memory": 192 << 30, "major": 9, "minor": 4}


def torch_with(*names: dict[str, object], hip: str | None = None) -> dict[str, str]:
    """Variables with which torch finds such GPUs; their numbers are in their UUIDs."""
    gpus = []
    for index, gpu in enumerate(names):
        uuid = f"{index}aaaaaaa-0000-0000-0000-000000000000"
        if hip:
            uuid = f"{index}af7052596831{index:03x}".encode().hex()
        place = {"pci_domain_id": 0, "pci_bus_id": 24 + index, "pci_device_id": 0}
        gpus.append({**gpu, **place, "uuid": uuid})
    return {"PYTHONPATH": str(FAKE), "TORCH_GPUS": json.dumps({"hip": hip, "gpus": gpus})}
