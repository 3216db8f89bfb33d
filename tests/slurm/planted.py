"""What tests plant on one node of a sweep over three."""

import pytest

SIZES = {"quick": [3, 1]}
NODES = {"options": "{nodelist: 'node[1-3]'}"}
FIRST = pytest.param("node1", marks=pytest.mark.slow)  # where the coordinator is

# Every process that a node starts finds GPUs that the test has put there, as FAKE_GPUS says.
FAKE_DRIVER = """\
import os, sys
from tests.fakes.nvml import FakeNvml, gpus
count, _, name = os.environ.get("FAKE_GPUS", "0").partition(" ")
sys.modules["pynvml"] = FakeNvml(gpus(int(count), name or "NVIDIA H200"))
"""


def on(node, command):
    """A setup command that one node executes, as YAML."""
    return f'[ "$(hostname)" != {node} ] || {{ {command}; }}'
