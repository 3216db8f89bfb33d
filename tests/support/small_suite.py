"""A small suite that shows every part of the configuration, for the golden files."""

from pathlib import Path
from typing import Any

from milabench_ddp.commands.list import lines
from milabench_ddp.commands.resolve import text
from milabench_ddp.config.load import SuiteRequest, load, resolve
from tests.support.configuration import facts, write

DEFAULTS = """\
_defaults:
  max_duration: 600
  num_machines: 1

_torchvision:
  inherits: _defaults
  definition: benchmarks/torchvision
  group: torchvision
  plan: {method: per_gpu}
  tags: [vision, convnet]
  argv:
    --lr: 0.01
    --amp: true
    --num-workers: "auto({n_worker}, 8)"
    --batch-size: auto_batch(256)
    --data: "{milabench_data}/FakeImageNet"
  presets:
    small:
      max_duration: 20
      argv: {--batch-size: 2}
"""
SUITE = """\
include: _defaults.yaml

"*":
  env: {NCCL_DEBUG: WARN, CCL: "{ccl}"}

resnet50:
  inherits: _torchvision
  tags: [resnet]
  weight: 2
  argv: {--model: resnet50, --amp: !delete }

resnet50-nodes:
  inherits: resnet50
  tags: [multinode]
  plan: {method: njobs, n: 1}
  num_machines: 2
  weight: ${resnet50.weight}
  requires_capabilities:
    - len(nodes) >= ${..num_machines}

workers:
  matrix: {worker: [2, 4]}
  job:
    name: resnet50-w{worker}
    inherits: resnet50
    argv: {--num-workers: "{worker}", --lr: ~}

flops:
  program: benchmarks/flops.py
  plan: {method: njobs, n: 2}
  argv: [--dtype, fp16, '{"m": 1}']
  presets:
    small: {enabled: false}

bert:
  definition: benchmarks/bert
  enabled: false
"""


def write_suite() -> None:
    write("_defaults.yaml", DEFAULTS)
    write("suite.yaml", SUITE)
    write("benchmarks/torchvision/main.py", "")
    write("benchmarks/flops.py", "")


def resolved(here: Path, *, explain: bool, **request: Any) -> str:
    """What `resolve` prints, with the current folder as /here."""
    found = resolve(SuiteRequest("suite.yaml", **request), facts())
    return text(found, explain=explain).replace(str(here), "/here")


def listed(**request: Any) -> str:
    found = load(SuiteRequest("suite.yaml", **request), facts())
    return "".join(f"{line}\n" for line in lines(found))
