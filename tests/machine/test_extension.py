"""The price of a device back-end: one file, and one entry of the dict that names it."""

import json

from tests.support.package_copy import PackageCopy
from tests.support.workplace import EMIT

TOY = '''
    """A device that takes samples of itself."""

    from contextlib import contextmanager

    from ...samples import DeviceSample
    from ..devices import Device
    from .backend import Backend, DiscoveryResult, Reading


    class ToyBackend(Backend):
        """Two devices that do not exist."""

        name = "toy"
        collectives = "toyccl"
        torch_device = "cpu"
        visibility_variable = "TOY_VISIBLE_DEVICES"

        def discover(self, environ, count):
            """Both devices."""
            return DiscoveryResult(tuple(Device(i, f"toy-{i}", "Toy 1", 64.0) for i in range(2)))

        def source(self, devices):
            """Half of the memory is in use."""
            return sampling(devices)


    @contextmanager
    def sampling(devices):
        sample = DeviceSample(memory=(32.0, 64.0), load=0.5)
        yield lambda: Reading({device.index: sample for device in devices})
'''
PROGRAM = EMIT + (
    "time.sleep(0.5)\n"
    "for step in range(20): rate(100.0)\n"
    "print(os.environ['TOY_VISIBLE_DEVICES'], *sys.argv[1:])\n"
)


def test_a_device_back_end_is_one_file_and_one_entry(package_copy: PackageCopy) -> None:
    backends = "milabench_ddp/machine/backends/__init__.py"
    package_copy.add_file("milabench_ddp/machine/backends/toy.py", TOY)
    package_copy.add_line(backends, after="from .nvidia import", line="from .toy import ToyBackend")
    package_copy.add_line(backends, after='"cpu": CpuBackend()', line='    "toy": ToyBackend(),')
    assert len(package_copy.touched) == 2

    package_copy.write("main.py", PROGRAM)
    text = "one: {program: main.py, plan: {method: per_gpu}, max_duration: 60, argv: ['{ccl}']}"
    config = str(package_copy.write("suite.yaml", text))
    assert "TOY_VISIBLE_DEVICES=toy-1" in package_copy.milabench("dry", config).out
    words = ("--device", "toy", "--gpu-poll", "0.1", "--name", "mine")
    done = package_copy.milabench("run", config, *words)
    assert done.code == 0, done.err
    run = package_copy.run()
    assert (run / "one.D1.stdout").read_text() == "toy-1 toyccl\n"
    events = [json.loads(line) for line in (run / "one.D0.data").read_text().splitlines()]
    assert events[1]["data"]["accelerators"]["gpus"]["0"]["product"] == "Toy 1"
    sampled = [e["data"]["gpudata"] for e in events if "gpudata" in str(e["data"])]
    assert sampled[0] == {"0": {"memory": [32.0, 64.0], "load": 0.5}}
