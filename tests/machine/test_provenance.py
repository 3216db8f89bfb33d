import json
import subprocess
import sys
from collections.abc import Callable

import pytest

from milabench_ddp import __version__
from milabench_ddp.machine.devices import Device, Node
from milabench_ddp.machine.provenance import collect, meta, of_interest
from tests.fakes.nvml import FakeGpu, FakeNvml, gpus

NODE = Node("host", (Device(0, "0", "NVIDIA H200", 143771.0),), 16)


def test_everything_in_one_mapping(install: Callable[..., FakeNvml]) -> None:
    nvml = install(gpus(1))
    found = collect("cuda", NODE, ["milabench", "run", "x.yaml"], {"NCCL_DEBUG": "INFO"})
    assert json.loads(json.dumps(found)) == found
    assert found["command"] == ["milabench", "run", "x.yaml"]
    assert found["environment"] == {"NCCL_DEBUG": "INFO"}
    assert found["milabench"]["version"] == __version__
    assert found["packages"]["torch"]
    assert found["accelerators"] == {
        "arch": "cuda",
        "driver": "610.43",
        "cuda_driver": "13.2",
        "nvml": "13.610.43",
        "gpus": {
            "0": {
                "device": 0,
                "id": "0",
                "product": "NVIDIA H200",
                "memory": {"used": 600.0, "total": 143771.0},
                "uuid": nvml.gpus[0].uuid,
                "capability": "9.0",
                "vbios": "96.00.CF.00.02",
                "serial": "1650123456789",
                "power_limit": 700.0,
                "default_power_limit": 700.0,
                "clocks_max": {"sm": 1980, "memory": 3201},
                "pcie": {"bus_id": "00000000:18:00.0", "generation": 5, "width": 16},
                "ecc": True,
                "mig": False,
            }
        },
    }


def test_what_a_driver_cannot_tell_is_left_out(install: Callable[..., FakeNvml]) -> None:
    install([FakeGpu("NVIDIA T400", "GPU-0", power=None)])
    accelerators = collect("cuda", NODE, [], {})["accelerators"]
    assert "power_limit" not in accelerators["gpus"]["0"]
    assert collect("cpu", NODE, [], {})["accelerators"] == {"arch": "cpu", "gpus": {}}


def test_without_devices_no_driver_is_asked(install: Callable[..., FakeNvml]) -> None:
    """A login node has another driver than the nodes, or none."""
    install(gpus(2))
    found = collect("cuda", Node("login", (), 0), [], {})["accelerators"]
    assert found == {"arch": "cuda", "gpus": {}}


def test_the_part_that_milabench_has(install: Callable[..., FakeNvml]) -> None:
    install(gpus(1))
    found = meta(collect("cuda", NODE, [], {}))
    of_milabench = {"cpu", "os", "accelerators", "date", "milabench", "pytorch"}
    assert set(found) - {"machine"} == {*of_milabench, "python", "packages"}
    assert set(found["cpu"]) == {"count", "brand"}
    assert set(found["os"]) == {"sysname", "nodename", "release", "version", "machine"}
    assert set(found["milabench"]) == {"tag", "commit", "date"}
    assert found["accelerators"]["arch"] == "cuda"
    assert found["accelerators"]["gpus"]["0"]["product"] == "NVIDIA H200"
    assert found["accelerators"]["gpus"]["0"]["memory"] == {"used": 600.0, "total": 143771.0}
    assert found["pytorch"]["torch"]


def test_nothing_heavy_is_imported() -> None:
    script = (
        "import sys\n"
        "from milabench_ddp.machine.detect import detect\n"
        "from milabench_ddp.machine.provenance import collect\n"
        "cluster = detect('cpu', 2, {})\n"
        "collect(cluster.arch, cluster.nodes[0], [], {})\n"
        "print([m for m in ('torch', 'numpy', 'pynvml', 'voir', 'rich') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_what_changes_a_measurement_sorted() -> None:
    environ = {
        "OMP_NUM_THREADS": "4",
        "HOME": "/home/me",
        "NCCL_DEBUG": "INFO",
        "CUDA_VISIBLE_DEVICES": "",
        "TORCHINDUCTOR_CACHE_DIR": "/tmp/x",
        "EDITOR": "vi",
    }
    assert list(of_interest(environ).items()) == [
        ("CUDA_VISIBLE_DEVICES", ""),
        ("NCCL_DEBUG", "INFO"),
        ("OMP_NUM_THREADS", "4"),
        ("TORCHINDUCTOR_CACHE_DIR", "/tmp/x"),
    ]


@pytest.mark.parametrize(
    "name", ["SLURM_JWT", "MILABENCH_API_KEY", "TORCH_HUB_TOKEN", "MASTER_PASSWORD"]
)
def test_a_variable_named_like_a_secret_keeps_its_name_only(name: str) -> None:
    assert of_interest({name: "hunter2"}) == {name: "(hidden)"}


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("hf_aBcDeFgHiJkLmNoPqR", "(hidden)"),
        ("Bearer 0123456789abcdefABCD", "Bearer (hidden)"),
        ("--verbose --auth=hf_aBcDeFgHiJkLmNoPqR", "--verbose --auth=(hidden)"),
    ],
)
def test_a_value_that_looks_like_a_key_is_hidden_under_any_name(value: str, shown: str) -> None:
    kept = {"CUDA_VISIBLE_DEVICES": "GPU-8f5e1c9a-0123", "NCCL_ALGO": "Ring", "NCCL_NET": "sk-x"}
    assert of_interest({**kept, "TORCH_HOME": value}) == {**kept, "TORCH_HOME": shown}


def test_a_password_in_an_address() -> None:
    assert of_interest({"TORCH_HOME": "https://me:hunter2@example.org/x"}) == {
        "TORCH_HOME": "https://me:(hidden)@example.org/x"
    }


def test_of_a_variable_that_is_not_known_the_name_alone_is_kept() -> None:
    """It may have a secret of any form; what begins otherwise is none of our business."""
    environ = {"NCCL_ALGO": "Ring", "NCCL_MFA_CODE": "planted", "SLURM_X": "planted", "PIN": "7"}
    hidden = {"NCCL_MFA_CODE": "(hidden)", "SLURM_X": "(hidden)"}
    assert of_interest(environ) == {"NCCL_ALGO": "Ring", **hidden}
