#!/usr/bin/env bash
# Runs all checks that need a GPU, and prints the figures that docs/results.rst keeps. It needs the
# packages of `pip install -e ".[test]"`, installed or on PYTHONPATH, and writes nothing into the
# repository. Each part should end within ten minutes on one GPU:
#
#     bash perf/gpu_check.sh FOLDER [truth] [tiny] [suite] [more] [compile] [tests] [costs] [whole]
#
# The worst risk comes first: does every program run on this device at all, and is what it measures so?
# `whole` is the suite as users run it, which takes longer than ten minutes.
#
# Without a GPU it is a rehearsal: the same commands on the CPU, with the preset small.
set -uo pipefail
cd "$(dirname "$0")/.."
export PYTHONPATH="$PWD:${PYTHONPATH:-}" PYTHONDONTWRITEBYTECODE=1
base=$(realpath "${1:?give a folder for the results}")
parts=("${@:2}")
[ "${#parts[@]}" -gt 0 ] || parts=(truth tiny suite more compile tests costs)
failed=()
milabench() { python3 -m milabench_ddp "$@"; }

if python3 -c 'import sys, torch; sys.exit(not torch.cuda.is_available())'; then
  device=cuda kind=(--device cuda)
  nvidia-smi --query-gpu=name,driver_version,memory.total,power.limit --format=csv
else
  device=cpu kind=(--device cpu --preset small)
  echo "no GPU here: this is a rehearsal on the CPU"
fi
python3 -c 'import sys, torch; print(sys.version, torch.__version__, torch.version.cuda)'

step() {  # a title, then a command; a failure is recorded, and the other steps still run
  printf '\n== %s (%s)\n' "$1" "$(date +%T)"
  "${@:2}" || failed+=("$1")
}

sampled() {  # checks that the monitor sampled each device of each process, and prints the peaks
  python3 - "$base/runs/suite" <<'PYTHON'
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

added_up() {  # checks that no part of a step is below 0, and that the parts are the whole step
  python3 - "$base/runs/suite" <<'PYTHON'
import sys
from pathlib import Path
from milabench_ddp.results.read_run import read_run
for record in read_run(Path(sys.argv[1])).records:
    for number, rank in record.ranks.items():
        parts = [rank.wait_ms, *rank.parts.values()]
        if len(parts) < 3:
            continue
        least = min(map(min, parts))
        off = max(abs(sum(step[1:]) - step[0]) / step[0] for step in zip(rank.ms, *parts))
        print(f"{record.path.name} rank {number}: {', '.join(rank.parts)}: least {least:.4f} ms, off by {off:.2%}")
        assert least >= 0 and off < 0.01
PYTHON
}

# A full name also selects a benchmark that the preset disables.
main_entries=flops-*,resnet50,resnet50-loader,resnet50-ddp,elastic-ddp,comm-all-reduce,gpt-ddp,gpt-fsdp,bert-ddp
more_entries=comm-all-gather,comm-reduce-scatter,comm-all-to-all,comm-broadcast,comm-p2p,gpt-ddp-inductor,\
bert-large-ddp,gpt2-large-fsdp,t5-large-fsdp,vit-large-fsdp,resnet152-ddp,vit-l-16-fsdp,resnet50-e2e
[ "$device" = cuda ] || more_entries=comm-p2p  # the others take minutes each
shorter=()
for name in 'flops*' 'resnet*' 'elastic*' 'gpt*' 'bert*' 't5*' 'vit*'; do
  shorter+=(--override "$name.argv.--seconds=5")
done
shorter+=(--override 'resnet50*.argv.--steps=60' --override 'elastic-ddp.argv.--steps=3000')
for part in "${parts[@]}"; do
  case $part in
    truth)
      step "the devices" milabench resolve config/ddp.yaml "${kind[@]}" --select flops-bf16
      step "what others measure" python3 perf/gpu_truth.py --device "$device"
      for mode in ddp fsdp; do  # of one rank over NCCL
        step "one rank in mode $mode" python3 -m torch.distributed.run --nproc-per-node 1 \
          benchmarks/gpt/main.py --device "$device" --model GPTTiny --block-size 32 --batch-size 8 \
          --mode "$mode" --dtype bf16 --optimizer adamw --steps 12 --check-correctness
      done ;;
    tiny)
      step "every program, tiny" milabench run config/everything.yaml --device "$device" \
        --preset small --base "$base" --name tiny ;;
    whole)
      step "the whole suite" milabench run config/ddp.yaml "${kind[@]}" --base "$base" --name whole ;;
    suite)
      step "the suite, shortened" milabench run config/ddp.yaml "${kind[@]}" --base "$base" \
        --name suite --select "$main_entries" "${shorter[@]}"
      [ "$device" = cpu ] || step "the monitor's samples" sampled
      step "the report as JSON" milabench report "$base/runs/suite" --format json
      step "the parts of each step" added_up
      for table in findings ledger startup memory_phases devices traffic; do
        step "the table $table" milabench report "$base/runs/suite" --table "$table"
      done
      step "the timeline" milabench report "$base/runs/suite" --timeline "$base/timeline.json"
      step "dry, under bash" bash -c "python3 -m milabench_ddp dry config/ddp.yaml ${kind[*]} \
        --select flops-bf16 | bash | tail -3" ;;
    more)
      step "the rest of the suite" milabench run config/ddp.yaml "${kind[@]}" --base "$base" \
        --name more --select "$more_entries" "${shorter[@]}" ;;
    compile)
      step "models by compilers" milabench run config/dynamo.yaml "${kind[@]}" --preset small \
        --base "$base" --name compile --select 'hf_Bert-*' ;;
    tests)
      step "the tests of the GPU's paths" python3 -m pytest -q -m "slow or not slow" -o addopts= -p no:cacheprovider \
        tests/benchmarks/common/test_clocks.py tests/benchmarks/common/test_timing.py \
        tests/machine ;;
    costs)
      step "what this program costs" python3 -m perf --quick --only startup,trivial,idle,skew,metrics
      step "what timing costs" python3 perf/timing_cost.py --device "$device" ;;
    *)
      echo "no such part: $part" >&2
      exit 2 ;;
  esac
done

if [ "${#failed[@]}" -gt 0 ]; then printf '\nfailed: %s\n' "${failed[*]}" >&2; exit 1; fi
