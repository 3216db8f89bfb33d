from milabench_ddp.samples import Sample, gpudata


def test_milabenchs_entry() -> None:
    sample = Sample(memory=(600.0, 80_000.0), load=0.37, temperature=41.0, power=121.5)
    assert gpudata(12.5, {0: sample, 3: Sample(load=0.0)}) == {
        "task": "main",
        "time": 12.5,
        "gpudata": {
            "0": {"memory": (600.0, 80_000.0), "load": 0.37, "temperature": 41.0, "power": 121.5},
            "3": {"load": 0.0},
        },
    }
