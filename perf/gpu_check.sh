#!/usr/bin/env bash
# Everything that only a machine with a GPU can show, in one call, with the figures that
# docs/results.rst keeps. It needs the packages of `pip install -e ".[test]"`, installed or on
# PYTHONPATH; nothing is written into the repository.
#
#     bash perf/gpu_check.sh [FOLDER FOR RESULTS]
set -uo pipefail
cd "$(dirname "$0")/.."
export PYTHONPATH="$PWD:${PYTHONPATH:-}" PYTHONDONTWRITEBYTECODE=1
base=$(realpath "${1:-$(mktemp -d)}")
failed=()
milabench() { python3 -m milabench_ddp "$@"; }

step() {  # a title, then a command; a failure is remembered, and the rest goes on
  printf '\n== %s\n' "$1"
  "${@:2}" || failed+=("$1")
}

sampled() {  # the monitor has seen each device of each process: memory, load, power, temperature
  python3 - "$base/runs/full" <<'PYTHON'
import json, sys
from pathlib import Path
for path in sorted(Path(sys.argv[1]).glob("*.data")):
    events = [json.loads(line) for line in path.open()]
    samples = [e["data"]["gpudata"] for e in events if e["event"] == "data" and "gpudata" in e["data"]]
    devices = {str(i) for i in events[0]["data"]["devices"]}
    assert samples, f"{path.name}: no sample"
    assert all(set(sample) == devices for sample in samples), f"{path.name}: other devices"
    peak = {key: max(s[d][key] for s in samples for d in s) for key in ("load", "power", "temperature")}
    print(path.name, len(samples), "samples, peaks", peak)
PYTHON
}

nvidia-smi --query-gpu=name,driver_version,memory.total,power.limit --format=csv
python3 -c 'import sys, torch; print(sys.version, torch.__version__, torch.version.cuda, torch.cuda.nccl.version())'

step "the full preset, shortened" milabench run config/ddp.yaml --base "$base" --name full \
  --override 'resnet50*.argv.--steps=60' --override 'elastic-ddp.argv.--steps=3000'
step "the monitor's samples" sampled
step "the report as JSON" milabench report "$base/runs/full" --format json
step "dry, under bash" bash -c 'python3 -m milabench_ddp dry config/ddp.yaml --select flops-bf16 | bash | tail -3'
step "the tests of the GPU's paths" python3 -m pytest -q -p no:cacheprovider tests/benchmarks/common tests/monitor tests/machine
step "what this program costs" python3 perf/startup.py
step "what supervision costs" python3 perf/supervision.py

if [ "${#failed[@]}" -gt 0 ]; then printf '\nfailed: %s\n' "${failed[*]}" >&2; exit 1; fi
