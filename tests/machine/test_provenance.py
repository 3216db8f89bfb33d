import json
import subprocess
import sys
from collections.abc import Callable

from milabench_ddp import __version__
from milabench_ddp.machine.devices import Device, Node
from milabench_ddp.machine.provenance import collect, meta

from ..fakes.nvml import FakeNvml, gpus

NODE = Node("host", (Device(0, "0", "NVIDIA H200", 143771.0),), 16)


def test_everything_in_one_mapping(install: Callable[..., FakeNvml]) -> None:
    install(gpus(1))
    found = collect("cuda", NODE, ["milabench", "run", "x.yaml"], {"NCCL_DEBUG": "INFO"})
    assert json.loads(json.dumps(found)) == found
    assert found["command"] == ["milabench", "run", "x.yaml"]
    assert found["environment"] == {"NCCL_DEBUG": "INFO"}
    assert found["milabench"]["version"] == __version__
    assert found["packages"]["torch"]
    assert found["accelerators"]["driver"] == "610.43"


def test_the_part_that_milabench_has(install: Callable[..., FakeNvml]) -> None:
    install(gpus(1))
    found = meta(collect("cuda", NODE, [], {}))
    assert set(found) == {"cpu", "os", "accelerators", "date", "milabench", "pytorch"}
    assert set(found["cpu"]) == {"count", "brand"}
    assert set(found["os"]) == {"sysname", "nodename", "release", "version", "machine"}
    assert set(found["milabench"]) == {"tag", "commit", "date"}
    assert found["accelerators"]["arch"] == "cuda"
    assert found["accelerators"]["gpus"]["0"]["product"] == "NVIDIA H200"
    assert found["accelerators"]["gpus"]["0"]["memory"] == {"used": 600.0, "total": 143771.0}
    assert found["pytorch"]["torch"]


def test_another_interpreters_packages() -> None:
    found = collect("cpu", Node("host", (), 2), [], {}, path=[])
    assert found["packages"] == {}
    assert found["pytorch"] == {}


def test_nothing_heavy_is_imported() -> None:
    script = (
        "import sys\n"
        "from milabench_ddp.machine.detect import detect\n"
        "from milabench_ddp.machine.provenance import collect\n"
        "cluster = detect('cpu', 2, {}).cluster\n"
        "collect(cluster.arch, cluster.nodes[0], [], {})\n"
        "print([m for m in ('torch', 'numpy', 'pynvml', 'voir', 'rich') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
