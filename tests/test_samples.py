import json

from milabench_ddp.codec import convert
from milabench_ddp.samples import DeviceSample, gpudata

WHOLE = DeviceSample(memory=(600.0, 80_000.0), load=0.37, temperature=41.0, power=121.5)


def test_milabenchs_entry() -> None:
    assert gpudata(12.5, {0: WHOLE, 3: DeviceSample(load=0.0)}) == {
        "task": "main",
        "time": 12.5,
        "gpudata": {
            "0": {"memory": (600.0, 80_000.0), "load": 0.37, "temperature": 41.0, "power": 121.5},
            "3": {"load": 0.0},
        },
    }


def test_every_field_survives_the_file() -> None:
    entry = json.loads(json.dumps(gpudata(0, {0: WHOLE})))["gpudata"]["0"]
    assert convert(entry, DeviceSample) == WHOLE


def test_memory_in_use() -> None:
    assert (WHOLE.used, DeviceSample(load=0.0).used) == (600.0, None)
