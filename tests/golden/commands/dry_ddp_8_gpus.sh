#!/usr/bin/env bash
# milabench dry config/ddp.yaml: benchmarks: 46, preset full, on 8 x cuda GPU (made up)
# not run: lightning: disabled: it needs `milabench install`, or the extra `lightning`; then --select lightning (config/ddp.yaml:302)
# not run: resnet50-folder: disabled: it needs `milabench prepare`; then --select resnet50-folder (config/ddp.yaml:326)
set -euo pipefail
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
failed=()

# Programs write metric lines to files beside this script, or here; `run` reads them from pipes.
folder=$PWD
[ -n "${SLURM_JOB_ID:-}" ] || [ ! -f "$0" ] || folder=$(cd "$(dirname "$0")" && pwd)
[ -w "$folder" ] || folder=$(mktemp -d)

# Programs get these variables as this script was given them: it has its own. They get no `_`.
own=(BASH BASHOPTS BASHPID BASH_ARGC BASH_ARGV BASH_ARGV0 BASH_COMMAND BASH_LINENO BASH_SOURCE BASH_SUBSHELL BASH_VERSINFO BASH_VERSION COLUMNS COMP_WORDBREAKS DIRSTACK EPOCHREALTIME EPOCHSECONDS EUID FUNCNAME GROUPS HISTCMD IFS LINENO LINES OLDPWD OPTERR OPTIND POSIXLY_CORRECT PPID PS1 PS2 PS4 PWD RANDOM SECONDS SHELLOPTS SHLVL SRANDOM UID failed fd folder given host metrics name own pair pid pids port signals status)
given=()
while IFS= read -r -d '' pair; do
  for name in "${own[@]}"; do [[ $pair != "$name="* ]] || given+=("$pair"); done
done <"/proc/$$/environ"
# `run` lets these have their effect also where its caller ignores them, which bash alone cannot.
signals=--default-signal=INT,TERM,PIPE,CHLD,XFSZ
env "$signals" true 2>/dev/null || signals=--unset=_  # coreutils before 8.31

start() {  # become a program as `run` starts it: no signal ignored, no file open, its own session
  trap - INT QUIT
  [ -z "${SLURM_JOB_ID:-}" ] || trap '' USR2  # Slurm's warning would end it
  for fd in "/proc/$BASHPID/fd/"*; do
    fd=${fd##*/}
    [ "$fd" -le 2 ] || eval "exec $fd>&-"
  done
  local metrics=${MILABENCH_METRICS:-}
  [ -n "$metrics" ] || { metrics=$folder/$1; : >"$metrics"; }
  given+=("MILABENCH_METRICS=$metrics")
  shift
  exec setsid env "$signals" --unset=_ "${own[@]/#/--unset=}" -- "${given[@]}" "$@"
}
stop() {  # Ctrl-C does not reach the programs
  trap '' HUP INT TERM
  kill "${pids[@]}" 2>/dev/null || true
  wait
  exit 130
}
join() {  # wait for each process by its pid, and show these files; the last failure's status
  local status=0 pid
  for pid in "${pids[@]}"; do wait "$pid" || status=$?; done
  [ -n "${MILABENCH_METRICS:-}" ] || (cd "$folder" && cat -- "$@" 2>/dev/null) || true
  exit "$status"
}

echo "---"
echo flops-fp32
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/flops-fp32/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/flops-fp32/cache/triton}
  start flops-fp32.D0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype fp32 & pids+=($!)
  start flops-fp32.D1.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=1 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype fp32 & pids+=($!)
  start flops-fp32.D2.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=2 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype fp32 & pids+=($!)
  start flops-fp32.D3.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=3 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype fp32 & pids+=($!)
  start flops-fp32.D4.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=4 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype fp32 & pids+=($!)
  start flops-fp32.D5.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=5 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype fp32 & pids+=($!)
  start flops-fp32.D6.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=6 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype fp32 & pids+=($!)
  start flops-fp32.D7.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype fp32 & pids+=($!)
  join flops-fp32.D0.metrics flops-fp32.D1.metrics flops-fp32.D2.metrics flops-fp32.D3.metrics flops-fp32.D4.metrics flops-fp32.D5.metrics flops-fp32.D6.metrics flops-fp32.D7.metrics
) || failed+=(flops-fp32)

echo "---"
echo flops-tf32
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/flops-tf32/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/flops-tf32/cache/triton}
  start flops-tf32.D0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype tf32 & pids+=($!)
  start flops-tf32.D1.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=1 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype tf32 & pids+=($!)
  start flops-tf32.D2.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=2 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype tf32 & pids+=($!)
  start flops-tf32.D3.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=3 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype tf32 & pids+=($!)
  start flops-tf32.D4.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=4 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype tf32 & pids+=($!)
  start flops-tf32.D5.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=5 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype tf32 & pids+=($!)
  start flops-tf32.D6.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=6 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype tf32 & pids+=($!)
  start flops-tf32.D7.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype tf32 & pids+=($!)
  join flops-tf32.D0.metrics flops-tf32.D1.metrics flops-tf32.D2.metrics flops-tf32.D3.metrics flops-tf32.D4.metrics flops-tf32.D5.metrics flops-tf32.D6.metrics flops-tf32.D7.metrics
) || failed+=(flops-tf32)

echo "---"
echo flops-fp16
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/flops-fp16/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/flops-fp16/cache/triton}
  start flops-fp16.D0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype fp16 & pids+=($!)
  start flops-fp16.D1.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=1 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype fp16 & pids+=($!)
  start flops-fp16.D2.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=2 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype fp16 & pids+=($!)
  start flops-fp16.D3.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=3 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype fp16 & pids+=($!)
  start flops-fp16.D4.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=4 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype fp16 & pids+=($!)
  start flops-fp16.D5.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=5 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype fp16 & pids+=($!)
  start flops-fp16.D6.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=6 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype fp16 & pids+=($!)
  start flops-fp16.D7.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype fp16 & pids+=($!)
  join flops-fp16.D0.metrics flops-fp16.D1.metrics flops-fp16.D2.metrics flops-fp16.D3.metrics flops-fp16.D4.metrics flops-fp16.D5.metrics flops-fp16.D6.metrics flops-fp16.D7.metrics
) || failed+=(flops-fp16)

echo "---"
echo flops-bf16
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/flops-bf16/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/flops-bf16/cache/triton}
  start flops-bf16.D0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype bf16 & pids+=($!)
  start flops-bf16.D1.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=1 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype bf16 & pids+=($!)
  start flops-bf16.D2.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=2 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype bf16 & pids+=($!)
  start flops-bf16.D3.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=3 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype bf16 & pids+=($!)
  start flops-bf16.D4.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=4 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype bf16 & pids+=($!)
  start flops-bf16.D5.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=5 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype bf16 & pids+=($!)
  start flops-bf16.D6.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=6 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype bf16 & pids+=($!)
  start flops-bf16.D7.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype bf16 & pids+=($!)
  join flops-bf16.D0.metrics flops-bf16.D1.metrics flops-bf16.D2.metrics flops-bf16.D3.metrics flops-bf16.D4.metrics flops-bf16.D5.metrics flops-bf16.D6.metrics flops-bf16.D7.metrics
) || failed+=(flops-bf16)

echo "---"
echo resnet50
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/resnet50/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/resnet50/cache/triton}
  start resnet50.D0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/torchvision/main.py --model resnet50 --batch-size 256 --fit-batch --image-size 224 --precision amp --channels-last --steps 20 --seconds 30 --warmup 20 & pids+=($!)
  start resnet50.D1.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=1 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/torchvision/main.py --model resnet50 --batch-size 256 --fit-batch --image-size 224 --precision amp --channels-last --steps 20 --seconds 30 --warmup 20 & pids+=($!)
  start resnet50.D2.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=2 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/torchvision/main.py --model resnet50 --batch-size 256 --fit-batch --image-size 224 --precision amp --channels-last --steps 20 --seconds 30 --warmup 20 & pids+=($!)
  start resnet50.D3.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=3 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/torchvision/main.py --model resnet50 --batch-size 256 --fit-batch --image-size 224 --precision amp --channels-last --steps 20 --seconds 30 --warmup 20 & pids+=($!)
  start resnet50.D4.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=4 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/torchvision/main.py --model resnet50 --batch-size 256 --fit-batch --image-size 224 --precision amp --channels-last --steps 20 --seconds 30 --warmup 20 & pids+=($!)
  start resnet50.D5.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=5 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/torchvision/main.py --model resnet50 --batch-size 256 --fit-batch --image-size 224 --precision amp --channels-last --steps 20 --seconds 30 --warmup 20 & pids+=($!)
  start resnet50.D6.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=6 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/torchvision/main.py --model resnet50 --batch-size 256 --fit-batch --image-size 224 --precision amp --channels-last --steps 20 --seconds 30 --warmup 20 & pids+=($!)
  start resnet50.D7.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/torchvision/main.py --model resnet50 --batch-size 256 --fit-batch --image-size 224 --precision amp --channels-last --steps 20 --seconds 30 --warmup 20 & pids+=($!)
  join resnet50.D0.metrics resnet50.D1.metrics resnet50.D2.metrics resnet50.D3.metrics resnet50.D4.metrics resnet50.D5.metrics resnet50.D6.metrics resnet50.D7.metrics
) || failed+=(resnet50)

echo "---"
echo resnet50-loader
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/resnet50-loader/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/resnet50-loader/cache/triton}
  start resnet50-loader.D0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/torchvision/main.py --model resnet50 --batch-size 256 --fit-batch --image-size 224 --precision amp --channels-last --steps 20 --seconds 30 --warmup 20 --loader pytorch --num-workers 8 & pids+=($!)
  start resnet50-loader.D1.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=1 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/torchvision/main.py --model resnet50 --batch-size 256 --fit-batch --image-size 224 --precision amp --channels-last --steps 20 --seconds 30 --warmup 20 --loader pytorch --num-workers 8 & pids+=($!)
  start resnet50-loader.D2.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=2 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/torchvision/main.py --model resnet50 --batch-size 256 --fit-batch --image-size 224 --precision amp --channels-last --steps 20 --seconds 30 --warmup 20 --loader pytorch --num-workers 8 & pids+=($!)
  start resnet50-loader.D3.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=3 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/torchvision/main.py --model resnet50 --batch-size 256 --fit-batch --image-size 224 --precision amp --channels-last --steps 20 --seconds 30 --warmup 20 --loader pytorch --num-workers 8 & pids+=($!)
  start resnet50-loader.D4.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=4 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/torchvision/main.py --model resnet50 --batch-size 256 --fit-batch --image-size 224 --precision amp --channels-last --steps 20 --seconds 30 --warmup 20 --loader pytorch --num-workers 8 & pids+=($!)
  start resnet50-loader.D5.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=5 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/torchvision/main.py --model resnet50 --batch-size 256 --fit-batch --image-size 224 --precision amp --channels-last --steps 20 --seconds 30 --warmup 20 --loader pytorch --num-workers 8 & pids+=($!)
  start resnet50-loader.D6.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=6 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/torchvision/main.py --model resnet50 --batch-size 256 --fit-batch --image-size 224 --precision amp --channels-last --steps 20 --seconds 30 --warmup 20 --loader pytorch --num-workers 8 & pids+=($!)
  start resnet50-loader.D7.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/torchvision/main.py --model resnet50 --batch-size 256 --fit-batch --image-size 224 --precision amp --channels-last --steps 20 --seconds 30 --warmup 20 --loader pytorch --num-workers 8 & pids+=($!)
  join resnet50-loader.D0.metrics resnet50-loader.D1.metrics resnet50-loader.D2.metrics resnet50-loader.D3.metrics resnet50-loader.D4.metrics resnet50-loader.D5.metrics resnet50-loader.D6.metrics resnet50-loader.D7.metrics
) || failed+=(resnet50-loader)

echo "---"
echo resnet50-fp16
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/resnet50-fp16/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/resnet50-fp16/cache/triton}
  start resnet50-fp16.D0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/torchvision/main.py --model resnet50 --batch-size 256 --fit-batch --image-size 224 --precision amp-fp16 --channels-last --steps 20 --seconds 30 --warmup 20 & pids+=($!)
  start resnet50-fp16.D1.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=1 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/torchvision/main.py --model resnet50 --batch-size 256 --fit-batch --image-size 224 --precision amp-fp16 --channels-last --steps 20 --seconds 30 --warmup 20 & pids+=($!)
  start resnet50-fp16.D2.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=2 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/torchvision/main.py --model resnet50 --batch-size 256 --fit-batch --image-size 224 --precision amp-fp16 --channels-last --steps 20 --seconds 30 --warmup 20 & pids+=($!)
  start resnet50-fp16.D3.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=3 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/torchvision/main.py --model resnet50 --batch-size 256 --fit-batch --image-size 224 --precision amp-fp16 --channels-last --steps 20 --seconds 30 --warmup 20 & pids+=($!)
  start resnet50-fp16.D4.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=4 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/torchvision/main.py --model resnet50 --batch-size 256 --fit-batch --image-size 224 --precision amp-fp16 --channels-last --steps 20 --seconds 30 --warmup 20 & pids+=($!)
  start resnet50-fp16.D5.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=5 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/torchvision/main.py --model resnet50 --batch-size 256 --fit-batch --image-size 224 --precision amp-fp16 --channels-last --steps 20 --seconds 30 --warmup 20 & pids+=($!)
  start resnet50-fp16.D6.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=6 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/torchvision/main.py --model resnet50 --batch-size 256 --fit-batch --image-size 224 --precision amp-fp16 --channels-last --steps 20 --seconds 30 --warmup 20 & pids+=($!)
  start resnet50-fp16.D7.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/torchvision/main.py --model resnet50 --batch-size 256 --fit-batch --image-size 224 --precision amp-fp16 --channels-last --steps 20 --seconds 30 --warmup 20 & pids+=($!)
  join resnet50-fp16.D0.metrics resnet50-fp16.D1.metrics resnet50-fp16.D2.metrics resnet50-fp16.D3.metrics resnet50-fp16.D4.metrics resnet50-fp16.D5.metrics resnet50-fp16.D6.metrics resnet50-fp16.D7.metrics
) || failed+=(resnet50-fp16)

echo "---"
echo resnet50-ddp
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/resnet50-ddp/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/resnet50-ddp/cache/triton}
  export MILABENCH_SETUP_TIMEOUT=${MILABENCH_SETUP_TIMEOUT-300}
  export MILABENCH_STEP_TIMEOUT=${MILABENCH_STEP_TIMEOUT-100}
  export TORCH_FR_BUFFER_SIZE=${TORCH_FR_BUFFER_SIZE-2000}
  export TORCH_NCCL_DUMP_ON_TIMEOUT=${TORCH_NCCL_DUMP_ON_TIMEOUT-1}
  export TORCH_NCCL_DEBUG_INFO_TEMP_FILE=${TORCH_NCCL_DEBUG_INFO_TEMP_FILE-runs/dry/resnet50-ddp/flight_recorder.rank}
  start resnet50-ddp.0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -m torch.distributed.run --nnodes=1 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=localhost:0 --local-addr=localhost --rdzv-id=resnet50-ddp.0 benchmarks/torchvision_ddp/main.py --model resnet50 --batch-size 256 --fit-batch --image-size 224 --precision amp --channels-last --steps 20 --seconds 30 --warmup 20 & pids+=($!)
  join resnet50-ddp.0.metrics
) || failed+=(resnet50-ddp)

echo "---"
echo elastic-ddp
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/elastic-ddp/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/elastic-ddp/cache/triton}
  export MILABENCH_SETUP_TIMEOUT=${MILABENCH_SETUP_TIMEOUT-300}
  export MILABENCH_STEP_TIMEOUT=${MILABENCH_STEP_TIMEOUT-100}
  export TORCH_FR_BUFFER_SIZE=${TORCH_FR_BUFFER_SIZE-2000}
  export TORCH_NCCL_DUMP_ON_TIMEOUT=${TORCH_NCCL_DUMP_ON_TIMEOUT-1}
  export TORCH_NCCL_DEBUG_INFO_TEMP_FILE=${TORCH_NCCL_DEBUG_INFO_TEMP_FILE-runs/dry/elastic-ddp/flight_recorder.rank}
  start elastic-ddp.0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -m torch.distributed.run --nnodes=1 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=localhost:0 --local-addr=localhost --rdzv-id=elastic-ddp.0 benchmarks/elastic_ddp/main.py --steps 20 --seconds 10 --warmup 1000 & pids+=($!)
  join elastic-ddp.0.metrics
) || failed+=(elastic-ddp)

echo "---"
echo flops-peak-bf16
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/flops-peak-bf16/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/flops-peak-bf16/cache/triton}
  start flops-peak-bf16.D0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype bf16 --sweep & pids+=($!)
  start flops-peak-bf16.D1.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=1 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype bf16 --sweep & pids+=($!)
  start flops-peak-bf16.D2.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=2 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype bf16 --sweep & pids+=($!)
  start flops-peak-bf16.D3.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=3 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype bf16 --sweep & pids+=($!)
  start flops-peak-bf16.D4.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=4 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype bf16 --sweep & pids+=($!)
  start flops-peak-bf16.D5.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=5 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype bf16 --sweep & pids+=($!)
  start flops-peak-bf16.D6.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=6 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype bf16 --sweep & pids+=($!)
  start flops-peak-bf16.D7.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype bf16 --sweep & pids+=($!)
  join flops-peak-bf16.D0.metrics flops-peak-bf16.D1.metrics flops-peak-bf16.D2.metrics flops-peak-bf16.D3.metrics flops-peak-bf16.D4.metrics flops-peak-bf16.D5.metrics flops-peak-bf16.D6.metrics flops-peak-bf16.D7.metrics
) || failed+=(flops-peak-bf16)

echo "---"
echo flops-fp8
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/flops-fp8/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/flops-fp8/cache/triton}
  start flops-fp8.D0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype fp8 & pids+=($!)
  start flops-fp8.D1.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=1 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype fp8 & pids+=($!)
  start flops-fp8.D2.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=2 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype fp8 & pids+=($!)
  start flops-fp8.D3.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=3 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype fp8 & pids+=($!)
  start flops-fp8.D4.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=4 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype fp8 & pids+=($!)
  start flops-fp8.D5.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=5 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype fp8 & pids+=($!)
  start flops-fp8.D6.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=6 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype fp8 & pids+=($!)
  start flops-fp8.D7.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 30 --warmup 10 --dtype fp8 & pids+=($!)
  join flops-fp8.D0.metrics flops-fp8.D1.metrics flops-fp8.D2.metrics flops-fp8.D3.metrics flops-fp8.D4.metrics flops-fp8.D5.metrics flops-fp8.D6.metrics flops-fp8.D7.metrics
) || failed+=(flops-fp8)

echo "---"
echo flops-sustained-bf16
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/flops-sustained-bf16/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/flops-sustained-bf16/cache/triton}
  start flops-sustained-bf16.D0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 180 --warmup 10 --dtype bf16 & pids+=($!)
  start flops-sustained-bf16.D1.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=1 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 180 --warmup 10 --dtype bf16 & pids+=($!)
  start flops-sustained-bf16.D2.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=2 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 180 --warmup 10 --dtype bf16 & pids+=($!)
  start flops-sustained-bf16.D3.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=3 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 180 --warmup 10 --dtype bf16 & pids+=($!)
  start flops-sustained-bf16.D4.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=4 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 180 --warmup 10 --dtype bf16 & pids+=($!)
  start flops-sustained-bf16.D5.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=5 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 180 --warmup 10 --dtype bf16 & pids+=($!)
  start flops-sustained-bf16.D6.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=6 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 180 --warmup 10 --dtype bf16 & pids+=($!)
  start flops-sustained-bf16.D7.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/flops/main.py --m 8192 --n 8192 --number 30 --repeat 20 --seconds 180 --warmup 10 --dtype bf16 & pids+=($!)
  join flops-sustained-bf16.D0.metrics flops-sustained-bf16.D1.metrics flops-sustained-bf16.D2.metrics flops-sustained-bf16.D3.metrics flops-sustained-bf16.D4.metrics flops-sustained-bf16.D5.metrics flops-sustained-bf16.D6.metrics flops-sustained-bf16.D7.metrics
) || failed+=(flops-sustained-bf16)

echo "---"
echo membw-triad
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/membw-triad/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/membw-triad/cache/triton}
  start membw-triad.D0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/membw/main.py --bytes 1Gi --number 10 --repeat 20 --seconds 10 --warmup 20 --op triad & pids+=($!)
  start membw-triad.D1.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=1 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/membw/main.py --bytes 1Gi --number 10 --repeat 20 --seconds 10 --warmup 20 --op triad & pids+=($!)
  start membw-triad.D2.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=2 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/membw/main.py --bytes 1Gi --number 10 --repeat 20 --seconds 10 --warmup 20 --op triad & pids+=($!)
  start membw-triad.D3.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=3 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/membw/main.py --bytes 1Gi --number 10 --repeat 20 --seconds 10 --warmup 20 --op triad & pids+=($!)
  start membw-triad.D4.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=4 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/membw/main.py --bytes 1Gi --number 10 --repeat 20 --seconds 10 --warmup 20 --op triad & pids+=($!)
  start membw-triad.D5.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=5 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/membw/main.py --bytes 1Gi --number 10 --repeat 20 --seconds 10 --warmup 20 --op triad & pids+=($!)
  start membw-triad.D6.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=6 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/membw/main.py --bytes 1Gi --number 10 --repeat 20 --seconds 10 --warmup 20 --op triad & pids+=($!)
  start membw-triad.D7.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/membw/main.py --bytes 1Gi --number 10 --repeat 20 --seconds 10 --warmup 20 --op triad & pids+=($!)
  join membw-triad.D0.metrics membw-triad.D1.metrics membw-triad.D2.metrics membw-triad.D3.metrics membw-triad.D4.metrics membw-triad.D5.metrics membw-triad.D6.metrics membw-triad.D7.metrics
) || failed+=(membw-triad)

echo "---"
echo transfer-h2d
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/transfer-h2d/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/transfer-h2d/cache/triton}
  start transfer-h2d.D0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/transfer/main.py --bytes 256Mi --number 5 --repeat 20 --seconds 10 --warmup 6 --direction h2d & pids+=($!)
  start transfer-h2d.D1.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=1 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/transfer/main.py --bytes 256Mi --number 5 --repeat 20 --seconds 10 --warmup 6 --direction h2d & pids+=($!)
  start transfer-h2d.D2.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=2 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/transfer/main.py --bytes 256Mi --number 5 --repeat 20 --seconds 10 --warmup 6 --direction h2d & pids+=($!)
  start transfer-h2d.D3.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=3 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/transfer/main.py --bytes 256Mi --number 5 --repeat 20 --seconds 10 --warmup 6 --direction h2d & pids+=($!)
  start transfer-h2d.D4.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=4 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/transfer/main.py --bytes 256Mi --number 5 --repeat 20 --seconds 10 --warmup 6 --direction h2d & pids+=($!)
  start transfer-h2d.D5.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=5 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/transfer/main.py --bytes 256Mi --number 5 --repeat 20 --seconds 10 --warmup 6 --direction h2d & pids+=($!)
  start transfer-h2d.D6.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=6 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/transfer/main.py --bytes 256Mi --number 5 --repeat 20 --seconds 10 --warmup 6 --direction h2d & pids+=($!)
  start transfer-h2d.D7.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/transfer/main.py --bytes 256Mi --number 5 --repeat 20 --seconds 10 --warmup 6 --direction h2d & pids+=($!)
  join transfer-h2d.D0.metrics transfer-h2d.D1.metrics transfer-h2d.D2.metrics transfer-h2d.D3.metrics transfer-h2d.D4.metrics transfer-h2d.D5.metrics transfer-h2d.D6.metrics transfer-h2d.D7.metrics
) || failed+=(transfer-h2d)

echo "---"
echo transfer-d2h
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/transfer-d2h/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/transfer-d2h/cache/triton}
  start transfer-d2h.D0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/transfer/main.py --bytes 256Mi --number 5 --repeat 20 --seconds 10 --warmup 6 --direction d2h & pids+=($!)
  start transfer-d2h.D1.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=1 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/transfer/main.py --bytes 256Mi --number 5 --repeat 20 --seconds 10 --warmup 6 --direction d2h & pids+=($!)
  start transfer-d2h.D2.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=2 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/transfer/main.py --bytes 256Mi --number 5 --repeat 20 --seconds 10 --warmup 6 --direction d2h & pids+=($!)
  start transfer-d2h.D3.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=3 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/transfer/main.py --bytes 256Mi --number 5 --repeat 20 --seconds 10 --warmup 6 --direction d2h & pids+=($!)
  start transfer-d2h.D4.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=4 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/transfer/main.py --bytes 256Mi --number 5 --repeat 20 --seconds 10 --warmup 6 --direction d2h & pids+=($!)
  start transfer-d2h.D5.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=5 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/transfer/main.py --bytes 256Mi --number 5 --repeat 20 --seconds 10 --warmup 6 --direction d2h & pids+=($!)
  start transfer-d2h.D6.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=6 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/transfer/main.py --bytes 256Mi --number 5 --repeat 20 --seconds 10 --warmup 6 --direction d2h & pids+=($!)
  start transfer-d2h.D7.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/transfer/main.py --bytes 256Mi --number 5 --repeat 20 --seconds 10 --warmup 6 --direction d2h & pids+=($!)
  join transfer-d2h.D0.metrics transfer-d2h.D1.metrics transfer-d2h.D2.metrics transfer-d2h.D3.metrics transfer-d2h.D4.metrics transfer-d2h.D5.metrics transfer-d2h.D6.metrics transfer-d2h.D7.metrics
) || failed+=(transfer-d2h)

echo "---"
echo pairs
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/pairs/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/pairs/cache/triton}
  export MILABENCH_SETUP_TIMEOUT=${MILABENCH_SETUP_TIMEOUT-300}
  export MILABENCH_STEP_TIMEOUT=${MILABENCH_STEP_TIMEOUT-100}
  export TORCH_FR_BUFFER_SIZE=${TORCH_FR_BUFFER_SIZE-2000}
  export TORCH_NCCL_DUMP_ON_TIMEOUT=${TORCH_NCCL_DUMP_ON_TIMEOUT-1}
  export TORCH_NCCL_DEBUG_INFO_TEMP_FILE=${TORCH_NCCL_DEBUG_INFO_TEMP_FILE-runs/dry/pairs/flight_recorder.rank}
  start pairs.0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -m torch.distributed.run --nnodes=1 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=localhost:0 --local-addr=localhost --rdzv-id=pairs.0 benchmarks/pairs/main.py --bytes 64Mi --number 10 --repeat 5 --seconds 10 & pids+=($!)
  join pairs.0.metrics
) || failed+=(pairs)

echo "---"
echo comm-all-reduce
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/comm-all-reduce/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/comm-all-reduce/cache/triton}
  export MILABENCH_SETUP_TIMEOUT=${MILABENCH_SETUP_TIMEOUT-300}
  export MILABENCH_STEP_TIMEOUT=${MILABENCH_STEP_TIMEOUT-100}
  export TORCH_FR_BUFFER_SIZE=${TORCH_FR_BUFFER_SIZE-2000}
  export TORCH_NCCL_DUMP_ON_TIMEOUT=${TORCH_NCCL_DUMP_ON_TIMEOUT-1}
  export TORCH_NCCL_DEBUG_INFO_TEMP_FILE=${TORCH_NCCL_DEBUG_INFO_TEMP_FILE-runs/dry/comm-all-reduce/flight_recorder.rank}
  start comm-all-reduce.0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -m torch.distributed.run --nnodes=1 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=localhost:0 --local-addr=localhost --rdzv-id=comm-all-reduce.0 benchmarks/comm/main.py --min-bytes 1Ki --max-bytes 1Gi --factor 4 --seconds 10 --op all_reduce & pids+=($!)
  join comm-all-reduce.0.metrics
) || failed+=(comm-all-reduce)

echo "---"
echo comm-all-gather
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/comm-all-gather/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/comm-all-gather/cache/triton}
  export MILABENCH_SETUP_TIMEOUT=${MILABENCH_SETUP_TIMEOUT-300}
  export MILABENCH_STEP_TIMEOUT=${MILABENCH_STEP_TIMEOUT-100}
  export TORCH_FR_BUFFER_SIZE=${TORCH_FR_BUFFER_SIZE-2000}
  export TORCH_NCCL_DUMP_ON_TIMEOUT=${TORCH_NCCL_DUMP_ON_TIMEOUT-1}
  export TORCH_NCCL_DEBUG_INFO_TEMP_FILE=${TORCH_NCCL_DEBUG_INFO_TEMP_FILE-runs/dry/comm-all-gather/flight_recorder.rank}
  start comm-all-gather.0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -m torch.distributed.run --nnodes=1 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=localhost:0 --local-addr=localhost --rdzv-id=comm-all-gather.0 benchmarks/comm/main.py --min-bytes 1Ki --max-bytes 1Gi --factor 4 --seconds 10 --op all_gather & pids+=($!)
  join comm-all-gather.0.metrics
) || failed+=(comm-all-gather)

echo "---"
echo comm-reduce-scatter
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/comm-reduce-scatter/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/comm-reduce-scatter/cache/triton}
  export MILABENCH_SETUP_TIMEOUT=${MILABENCH_SETUP_TIMEOUT-300}
  export MILABENCH_STEP_TIMEOUT=${MILABENCH_STEP_TIMEOUT-100}
  export TORCH_FR_BUFFER_SIZE=${TORCH_FR_BUFFER_SIZE-2000}
  export TORCH_NCCL_DUMP_ON_TIMEOUT=${TORCH_NCCL_DUMP_ON_TIMEOUT-1}
  export TORCH_NCCL_DEBUG_INFO_TEMP_FILE=${TORCH_NCCL_DEBUG_INFO_TEMP_FILE-runs/dry/comm-reduce-scatter/flight_recorder.rank}
  start comm-reduce-scatter.0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -m torch.distributed.run --nnodes=1 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=localhost:0 --local-addr=localhost --rdzv-id=comm-reduce-scatter.0 benchmarks/comm/main.py --min-bytes 1Ki --max-bytes 1Gi --factor 4 --seconds 10 --op reduce_scatter & pids+=($!)
  join comm-reduce-scatter.0.metrics
) || failed+=(comm-reduce-scatter)

echo "---"
echo comm-all-to-all
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/comm-all-to-all/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/comm-all-to-all/cache/triton}
  export MILABENCH_SETUP_TIMEOUT=${MILABENCH_SETUP_TIMEOUT-300}
  export MILABENCH_STEP_TIMEOUT=${MILABENCH_STEP_TIMEOUT-100}
  export TORCH_FR_BUFFER_SIZE=${TORCH_FR_BUFFER_SIZE-2000}
  export TORCH_NCCL_DUMP_ON_TIMEOUT=${TORCH_NCCL_DUMP_ON_TIMEOUT-1}
  export TORCH_NCCL_DEBUG_INFO_TEMP_FILE=${TORCH_NCCL_DEBUG_INFO_TEMP_FILE-runs/dry/comm-all-to-all/flight_recorder.rank}
  start comm-all-to-all.0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -m torch.distributed.run --nnodes=1 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=localhost:0 --local-addr=localhost --rdzv-id=comm-all-to-all.0 benchmarks/comm/main.py --min-bytes 1Ki --max-bytes 1Gi --factor 4 --seconds 10 --op all_to_all & pids+=($!)
  join comm-all-to-all.0.metrics
) || failed+=(comm-all-to-all)

echo "---"
echo comm-broadcast
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/comm-broadcast/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/comm-broadcast/cache/triton}
  export MILABENCH_SETUP_TIMEOUT=${MILABENCH_SETUP_TIMEOUT-300}
  export MILABENCH_STEP_TIMEOUT=${MILABENCH_STEP_TIMEOUT-100}
  export TORCH_FR_BUFFER_SIZE=${TORCH_FR_BUFFER_SIZE-2000}
  export TORCH_NCCL_DUMP_ON_TIMEOUT=${TORCH_NCCL_DUMP_ON_TIMEOUT-1}
  export TORCH_NCCL_DEBUG_INFO_TEMP_FILE=${TORCH_NCCL_DEBUG_INFO_TEMP_FILE-runs/dry/comm-broadcast/flight_recorder.rank}
  start comm-broadcast.0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -m torch.distributed.run --nnodes=1 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=localhost:0 --local-addr=localhost --rdzv-id=comm-broadcast.0 benchmarks/comm/main.py --min-bytes 1Ki --max-bytes 1Gi --factor 4 --seconds 10 --op broadcast & pids+=($!)
  join comm-broadcast.0.metrics
) || failed+=(comm-broadcast)

echo "---"
echo comm-p2p
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/comm-p2p/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/comm-p2p/cache/triton}
  export MILABENCH_SETUP_TIMEOUT=${MILABENCH_SETUP_TIMEOUT-300}
  export MILABENCH_STEP_TIMEOUT=${MILABENCH_STEP_TIMEOUT-100}
  export TORCH_FR_BUFFER_SIZE=${TORCH_FR_BUFFER_SIZE-2000}
  export TORCH_NCCL_DUMP_ON_TIMEOUT=${TORCH_NCCL_DUMP_ON_TIMEOUT-1}
  export TORCH_NCCL_DEBUG_INFO_TEMP_FILE=${TORCH_NCCL_DEBUG_INFO_TEMP_FILE-runs/dry/comm-p2p/flight_recorder.rank}
  start comm-p2p.0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -m torch.distributed.run --nnodes=1 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=localhost:0 --local-addr=localhost --rdzv-id=comm-p2p.0 benchmarks/comm/main.py --min-bytes 1Ki --max-bytes 1Gi --factor 4 --seconds 10 --op p2p & pids+=($!)
  join comm-p2p.0.metrics
) || failed+=(comm-p2p)

echo "---"
echo gpt-ddp
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/gpt-ddp/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/gpt-ddp/cache/triton}
  export MILABENCH_SETUP_TIMEOUT=${MILABENCH_SETUP_TIMEOUT-300}
  export MILABENCH_STEP_TIMEOUT=${MILABENCH_STEP_TIMEOUT-100}
  export TORCH_FR_BUFFER_SIZE=${TORCH_FR_BUFFER_SIZE-2000}
  export TORCH_NCCL_DUMP_ON_TIMEOUT=${TORCH_NCCL_DUMP_ON_TIMEOUT-1}
  export TORCH_NCCL_DEBUG_INFO_TEMP_FILE=${TORCH_NCCL_DEBUG_INFO_TEMP_FILE-runs/dry/gpt-ddp/flight_recorder.rank}
  start gpt-ddp.0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -m torch.distributed.run --nnodes=1 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=localhost:0 --local-addr=localhost --rdzv-id=gpt-ddp.0 benchmarks/gpt/main.py --model GPT1B --block-size 1024 --batch-size 16 --fit-batch --dtype bf16 --optimizer adamw --lr 0.0001 --steps 20 --seconds 30 --warmup 10 --mode ddp & pids+=($!)
  join gpt-ddp.0.metrics
) || failed+=(gpt-ddp)

echo "---"
echo gpt-fsdp
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/gpt-fsdp/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/gpt-fsdp/cache/triton}
  export MILABENCH_SETUP_TIMEOUT=${MILABENCH_SETUP_TIMEOUT-300}
  export MILABENCH_STEP_TIMEOUT=${MILABENCH_STEP_TIMEOUT-100}
  export TORCH_FR_BUFFER_SIZE=${TORCH_FR_BUFFER_SIZE-2000}
  export TORCH_NCCL_DUMP_ON_TIMEOUT=${TORCH_NCCL_DUMP_ON_TIMEOUT-1}
  export TORCH_NCCL_DEBUG_INFO_TEMP_FILE=${TORCH_NCCL_DEBUG_INFO_TEMP_FILE-runs/dry/gpt-fsdp/flight_recorder.rank}
  start gpt-fsdp.0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -m torch.distributed.run --nnodes=1 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=localhost:0 --local-addr=localhost --rdzv-id=gpt-fsdp.0 benchmarks/gpt/main.py --model GPT1B --block-size 1024 --batch-size 16 --fit-batch --dtype bf16 --optimizer adamw --lr 0.0001 --steps 20 --seconds 30 --warmup 10 --mode fsdp & pids+=($!)
  join gpt-fsdp.0.metrics
) || failed+=(gpt-fsdp)

echo "---"
echo gpt-single
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/gpt-single/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/gpt-single/cache/triton}
  start gpt-single.D0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/gpt/main.py --model GPT1B --block-size 1024 --batch-size 16 --fit-batch --dtype bf16 --optimizer adamw --lr 0.0001 --steps 20 --seconds 30 --warmup 10 --mode single & pids+=($!)
  start gpt-single.D1.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=1 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/gpt/main.py --model GPT1B --block-size 1024 --batch-size 16 --fit-batch --dtype bf16 --optimizer adamw --lr 0.0001 --steps 20 --seconds 30 --warmup 10 --mode single & pids+=($!)
  start gpt-single.D2.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=2 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/gpt/main.py --model GPT1B --block-size 1024 --batch-size 16 --fit-batch --dtype bf16 --optimizer adamw --lr 0.0001 --steps 20 --seconds 30 --warmup 10 --mode single & pids+=($!)
  start gpt-single.D3.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=3 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/gpt/main.py --model GPT1B --block-size 1024 --batch-size 16 --fit-batch --dtype bf16 --optimizer adamw --lr 0.0001 --steps 20 --seconds 30 --warmup 10 --mode single & pids+=($!)
  start gpt-single.D4.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=4 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/gpt/main.py --model GPT1B --block-size 1024 --batch-size 16 --fit-batch --dtype bf16 --optimizer adamw --lr 0.0001 --steps 20 --seconds 30 --warmup 10 --mode single & pids+=($!)
  start gpt-single.D5.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=5 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/gpt/main.py --model GPT1B --block-size 1024 --batch-size 16 --fit-batch --dtype bf16 --optimizer adamw --lr 0.0001 --steps 20 --seconds 30 --warmup 10 --mode single & pids+=($!)
  start gpt-single.D6.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=6 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/gpt/main.py --model GPT1B --block-size 1024 --batch-size 16 --fit-batch --dtype bf16 --optimizer adamw --lr 0.0001 --steps 20 --seconds 30 --warmup 10 --mode single & pids+=($!)
  start gpt-single.D7.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/gpt/main.py --model GPT1B --block-size 1024 --batch-size 16 --fit-batch --dtype bf16 --optimizer adamw --lr 0.0001 --steps 20 --seconds 30 --warmup 10 --mode single & pids+=($!)
  join gpt-single.D0.metrics gpt-single.D1.metrics gpt-single.D2.metrics gpt-single.D3.metrics gpt-single.D4.metrics gpt-single.D5.metrics gpt-single.D6.metrics gpt-single.D7.metrics
) || failed+=(gpt-single)

echo "---"
echo gpt-single-inductor
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/gpt-single-inductor/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/gpt-single-inductor/cache/triton}
  start gpt-single-inductor.D0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/gpt/main.py --model GPT1B --block-size 1024 --batch-size 16 --fit-batch --dtype bf16 --optimizer adamw --lr 0.0001 --steps 20 --seconds 30 --warmup 10 --mode single --compile inductor & pids+=($!)
  start gpt-single-inductor.D1.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=1 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/gpt/main.py --model GPT1B --block-size 1024 --batch-size 16 --fit-batch --dtype bf16 --optimizer adamw --lr 0.0001 --steps 20 --seconds 30 --warmup 10 --mode single --compile inductor & pids+=($!)
  start gpt-single-inductor.D2.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=2 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/gpt/main.py --model GPT1B --block-size 1024 --batch-size 16 --fit-batch --dtype bf16 --optimizer adamw --lr 0.0001 --steps 20 --seconds 30 --warmup 10 --mode single --compile inductor & pids+=($!)
  start gpt-single-inductor.D3.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=3 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/gpt/main.py --model GPT1B --block-size 1024 --batch-size 16 --fit-batch --dtype bf16 --optimizer adamw --lr 0.0001 --steps 20 --seconds 30 --warmup 10 --mode single --compile inductor & pids+=($!)
  start gpt-single-inductor.D4.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=4 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/gpt/main.py --model GPT1B --block-size 1024 --batch-size 16 --fit-batch --dtype bf16 --optimizer adamw --lr 0.0001 --steps 20 --seconds 30 --warmup 10 --mode single --compile inductor & pids+=($!)
  start gpt-single-inductor.D5.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=5 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/gpt/main.py --model GPT1B --block-size 1024 --batch-size 16 --fit-batch --dtype bf16 --optimizer adamw --lr 0.0001 --steps 20 --seconds 30 --warmup 10 --mode single --compile inductor & pids+=($!)
  start gpt-single-inductor.D6.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=6 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/gpt/main.py --model GPT1B --block-size 1024 --batch-size 16 --fit-batch --dtype bf16 --optimizer adamw --lr 0.0001 --steps 20 --seconds 30 --warmup 10 --mode single --compile inductor & pids+=($!)
  start gpt-single-inductor.D7.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/gpt/main.py --model GPT1B --block-size 1024 --batch-size 16 --fit-batch --dtype bf16 --optimizer adamw --lr 0.0001 --steps 20 --seconds 30 --warmup 10 --mode single --compile inductor & pids+=($!)
  join gpt-single-inductor.D0.metrics gpt-single-inductor.D1.metrics gpt-single-inductor.D2.metrics gpt-single-inductor.D3.metrics gpt-single-inductor.D4.metrics gpt-single-inductor.D5.metrics gpt-single-inductor.D6.metrics gpt-single-inductor.D7.metrics
) || failed+=(gpt-single-inductor)

echo "---"
echo gpt-ddp-inductor
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/gpt-ddp-inductor/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/gpt-ddp-inductor/cache/triton}
  export MILABENCH_SETUP_TIMEOUT=${MILABENCH_SETUP_TIMEOUT-300}
  export MILABENCH_STEP_TIMEOUT=${MILABENCH_STEP_TIMEOUT-100}
  export TORCH_FR_BUFFER_SIZE=${TORCH_FR_BUFFER_SIZE-2000}
  export TORCH_NCCL_DUMP_ON_TIMEOUT=${TORCH_NCCL_DUMP_ON_TIMEOUT-1}
  export TORCH_NCCL_DEBUG_INFO_TEMP_FILE=${TORCH_NCCL_DEBUG_INFO_TEMP_FILE-runs/dry/gpt-ddp-inductor/flight_recorder.rank}
  start gpt-ddp-inductor.0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -m torch.distributed.run --nnodes=1 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=localhost:0 --local-addr=localhost --rdzv-id=gpt-ddp-inductor.0 benchmarks/gpt/main.py --model GPT1B --block-size 1024 --batch-size 16 --fit-batch --dtype bf16 --optimizer adamw --lr 0.0001 --steps 20 --seconds 30 --warmup 10 --mode ddp --compile inductor & pids+=($!)
  join gpt-ddp-inductor.0.metrics
) || failed+=(gpt-ddp-inductor)

echo "---"
echo gpt-pipeline
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/gpt-pipeline/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/gpt-pipeline/cache/triton}
  export MILABENCH_SETUP_TIMEOUT=${MILABENCH_SETUP_TIMEOUT-300}
  export MILABENCH_STEP_TIMEOUT=${MILABENCH_STEP_TIMEOUT-100}
  export TORCH_FR_BUFFER_SIZE=${TORCH_FR_BUFFER_SIZE-2000}
  export TORCH_NCCL_DUMP_ON_TIMEOUT=${TORCH_NCCL_DUMP_ON_TIMEOUT-1}
  export TORCH_NCCL_DEBUG_INFO_TEMP_FILE=${TORCH_NCCL_DEBUG_INFO_TEMP_FILE-runs/dry/gpt-pipeline/flight_recorder.rank}
  start gpt-pipeline.0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -m torch.distributed.run --nnodes=1 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=localhost:0 --local-addr=localhost --rdzv-id=gpt-pipeline.0 benchmarks/gpt/main.py --model GPT1B --block-size 1024 --batch-size 16 --fit-batch --dtype bf16 --optimizer adamw --lr 0.0001 --steps 20 --seconds 30 --warmup 10 --mode pipeline --schedule 1F1B & pids+=($!)
  join gpt-pipeline.0.metrics
) || failed+=(gpt-pipeline)

echo "---"
echo gpt-tp
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/gpt-tp/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/gpt-tp/cache/triton}
  export MILABENCH_SETUP_TIMEOUT=${MILABENCH_SETUP_TIMEOUT-300}
  export MILABENCH_STEP_TIMEOUT=${MILABENCH_STEP_TIMEOUT-100}
  export TORCH_FR_BUFFER_SIZE=${TORCH_FR_BUFFER_SIZE-2000}
  export TORCH_NCCL_DUMP_ON_TIMEOUT=${TORCH_NCCL_DUMP_ON_TIMEOUT-1}
  export TORCH_NCCL_DEBUG_INFO_TEMP_FILE=${TORCH_NCCL_DEBUG_INFO_TEMP_FILE-runs/dry/gpt-tp/flight_recorder.rank}
  start gpt-tp.0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -m torch.distributed.run --nnodes=1 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=localhost:0 --local-addr=localhost --rdzv-id=gpt-tp.0 benchmarks/gpt/main.py --model GPT1B --block-size 1024 --batch-size 16 --fit-batch --dtype bf16 --optimizer adamw --lr 0.0001 --steps 20 --seconds 30 --warmup 10 --mode tp --sequence-parallel & pids+=($!)
  join gpt-tp.0.metrics
) || failed+=(gpt-tp)

echo "---"
echo gpt-pdp
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/gpt-pdp/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/gpt-pdp/cache/triton}
  export MILABENCH_SETUP_TIMEOUT=${MILABENCH_SETUP_TIMEOUT-300}
  export MILABENCH_STEP_TIMEOUT=${MILABENCH_STEP_TIMEOUT-100}
  export TORCH_FR_BUFFER_SIZE=${TORCH_FR_BUFFER_SIZE-2000}
  export TORCH_NCCL_DUMP_ON_TIMEOUT=${TORCH_NCCL_DUMP_ON_TIMEOUT-1}
  export TORCH_NCCL_DEBUG_INFO_TEMP_FILE=${TORCH_NCCL_DEBUG_INFO_TEMP_FILE-runs/dry/gpt-pdp/flight_recorder.rank}
  start gpt-pdp.0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -m torch.distributed.run --nnodes=1 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=localhost:0 --local-addr=localhost --rdzv-id=gpt-pdp.0 benchmarks/gpt/main.py --model GPT1B --block-size 1024 --batch-size 16 --fit-batch --dtype bf16 --optimizer adamw --lr 0.0001 --steps 20 --seconds 30 --warmup 10 --mode pdp --ndevice-per-proc 2 --schedule 1F1B & pids+=($!)
  join gpt-pdp.0.metrics
) || failed+=(gpt-pdp)

echo "---"
echo gpt-hsdp
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/gpt-hsdp/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/gpt-hsdp/cache/triton}
  export MILABENCH_SETUP_TIMEOUT=${MILABENCH_SETUP_TIMEOUT-300}
  export MILABENCH_STEP_TIMEOUT=${MILABENCH_STEP_TIMEOUT-100}
  export TORCH_FR_BUFFER_SIZE=${TORCH_FR_BUFFER_SIZE-2000}
  export TORCH_NCCL_DUMP_ON_TIMEOUT=${TORCH_NCCL_DUMP_ON_TIMEOUT-1}
  export TORCH_NCCL_DEBUG_INFO_TEMP_FILE=${TORCH_NCCL_DEBUG_INFO_TEMP_FILE-runs/dry/gpt-hsdp/flight_recorder.rank}
  start gpt-hsdp.0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -m torch.distributed.run --nnodes=1 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=localhost:0 --local-addr=localhost --rdzv-id=gpt-hsdp.0 benchmarks/gpt/main.py --model GPT1B --block-size 1024 --batch-size 16 --fit-batch --dtype bf16 --optimizer adamw --lr 0.0001 --steps 20 --seconds 30 --warmup 10 --mode hsdp & pids+=($!)
  join gpt-hsdp.0.metrics
) || failed+=(gpt-hsdp)

echo "---"
echo gpt-tp-fsdp
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/gpt-tp-fsdp/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/gpt-tp-fsdp/cache/triton}
  export MILABENCH_SETUP_TIMEOUT=${MILABENCH_SETUP_TIMEOUT-300}
  export MILABENCH_STEP_TIMEOUT=${MILABENCH_STEP_TIMEOUT-100}
  export TORCH_FR_BUFFER_SIZE=${TORCH_FR_BUFFER_SIZE-2000}
  export TORCH_NCCL_DUMP_ON_TIMEOUT=${TORCH_NCCL_DUMP_ON_TIMEOUT-1}
  export TORCH_NCCL_DEBUG_INFO_TEMP_FILE=${TORCH_NCCL_DEBUG_INFO_TEMP_FILE-runs/dry/gpt-tp-fsdp/flight_recorder.rank}
  start gpt-tp-fsdp.0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -m torch.distributed.run --nnodes=1 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=localhost:0 --local-addr=localhost --rdzv-id=gpt-tp-fsdp.0 benchmarks/gpt/main.py --model GPT1B --block-size 1024 --batch-size 16 --fit-batch --dtype bf16 --optimizer adamw --lr 0.0001 --steps 20 --seconds 30 --warmup 10 --mode tp-fsdp --sequence-parallel & pids+=($!)
  join gpt-tp-fsdp.0.metrics
) || failed+=(gpt-tp-fsdp)

echo "---"
echo llama-1b-single
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/llama-1b-single/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/llama-1b-single/cache/triton}
  start llama-1b-single.D0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/gpt/main.py --model llama3-1b --block-size 2048 --batch-size 8 --fit-batch --dtype bf16 --optimizer adamw --lr 0.0001 --steps 20 --seconds 30 --warmup 10 --mode single & pids+=($!)
  start llama-1b-single.D1.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=1 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/gpt/main.py --model llama3-1b --block-size 2048 --batch-size 8 --fit-batch --dtype bf16 --optimizer adamw --lr 0.0001 --steps 20 --seconds 30 --warmup 10 --mode single & pids+=($!)
  start llama-1b-single.D2.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=2 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/gpt/main.py --model llama3-1b --block-size 2048 --batch-size 8 --fit-batch --dtype bf16 --optimizer adamw --lr 0.0001 --steps 20 --seconds 30 --warmup 10 --mode single & pids+=($!)
  start llama-1b-single.D3.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=3 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/gpt/main.py --model llama3-1b --block-size 2048 --batch-size 8 --fit-batch --dtype bf16 --optimizer adamw --lr 0.0001 --steps 20 --seconds 30 --warmup 10 --mode single & pids+=($!)
  start llama-1b-single.D4.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=4 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/gpt/main.py --model llama3-1b --block-size 2048 --batch-size 8 --fit-batch --dtype bf16 --optimizer adamw --lr 0.0001 --steps 20 --seconds 30 --warmup 10 --mode single & pids+=($!)
  start llama-1b-single.D5.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=5 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/gpt/main.py --model llama3-1b --block-size 2048 --batch-size 8 --fit-batch --dtype bf16 --optimizer adamw --lr 0.0001 --steps 20 --seconds 30 --warmup 10 --mode single & pids+=($!)
  start llama-1b-single.D6.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=6 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/gpt/main.py --model llama3-1b --block-size 2048 --batch-size 8 --fit-batch --dtype bf16 --optimizer adamw --lr 0.0001 --steps 20 --seconds 30 --warmup 10 --mode single & pids+=($!)
  start llama-1b-single.D7.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -u benchmarks/gpt/main.py --model llama3-1b --block-size 2048 --batch-size 8 --fit-batch --dtype bf16 --optimizer adamw --lr 0.0001 --steps 20 --seconds 30 --warmup 10 --mode single & pids+=($!)
  join llama-1b-single.D0.metrics llama-1b-single.D1.metrics llama-1b-single.D2.metrics llama-1b-single.D3.metrics llama-1b-single.D4.metrics llama-1b-single.D5.metrics llama-1b-single.D6.metrics llama-1b-single.D7.metrics
) || failed+=(llama-1b-single)

echo "---"
echo llama-8b-fsdp
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/llama-8b-fsdp/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/llama-8b-fsdp/cache/triton}
  export MILABENCH_SETUP_TIMEOUT=${MILABENCH_SETUP_TIMEOUT-300}
  export MILABENCH_STEP_TIMEOUT=${MILABENCH_STEP_TIMEOUT-100}
  export TORCH_FR_BUFFER_SIZE=${TORCH_FR_BUFFER_SIZE-2000}
  export TORCH_NCCL_DUMP_ON_TIMEOUT=${TORCH_NCCL_DUMP_ON_TIMEOUT-1}
  export TORCH_NCCL_DEBUG_INFO_TEMP_FILE=${TORCH_NCCL_DEBUG_INFO_TEMP_FILE-runs/dry/llama-8b-fsdp/flight_recorder.rank}
  start llama-8b-fsdp.0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -m torch.distributed.run --nnodes=1 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=localhost:0 --local-addr=localhost --rdzv-id=llama-8b-fsdp.0 benchmarks/gpt/main.py --model llama3-8b --block-size 8192 --batch-size 2 --fit-batch --dtype fp32 --optimizer adamw --lr 0.0001 --steps 20 --seconds 30 --warmup 10 --mode fsdp --mixed-precision bf16 --reduce-dtype fp32 --activation selective --clip-norm 1 & pids+=($!)
  join llama-8b-fsdp.0.metrics
) || failed+=(llama-8b-fsdp)

echo "---"
echo llama-8b-fsdp-inductor
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/llama-8b-fsdp-inductor/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/llama-8b-fsdp-inductor/cache/triton}
  export MILABENCH_SETUP_TIMEOUT=${MILABENCH_SETUP_TIMEOUT-300}
  export MILABENCH_STEP_TIMEOUT=${MILABENCH_STEP_TIMEOUT-100}
  export TORCH_FR_BUFFER_SIZE=${TORCH_FR_BUFFER_SIZE-2000}
  export TORCH_NCCL_DUMP_ON_TIMEOUT=${TORCH_NCCL_DUMP_ON_TIMEOUT-1}
  export TORCH_NCCL_DEBUG_INFO_TEMP_FILE=${TORCH_NCCL_DEBUG_INFO_TEMP_FILE-runs/dry/llama-8b-fsdp-inductor/flight_recorder.rank}
  start llama-8b-fsdp-inductor.0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -m torch.distributed.run --nnodes=1 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=localhost:0 --local-addr=localhost --rdzv-id=llama-8b-fsdp-inductor.0 benchmarks/gpt/main.py --model llama3-8b --block-size 8192 --batch-size 2 --fit-batch --dtype fp32 --optimizer adamw --lr 0.0001 --steps 20 --seconds 30 --warmup 10 --mode fsdp --mixed-precision bf16 --reduce-dtype fp32 --activation selective --clip-norm 1 --compile inductor & pids+=($!)
  join llama-8b-fsdp-inductor.0.metrics
) || failed+=(llama-8b-fsdp-inductor)

echo "---"
echo llama-8b-fsdp-float8
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/llama-8b-fsdp-float8/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/llama-8b-fsdp-float8/cache/triton}
  export MILABENCH_SETUP_TIMEOUT=${MILABENCH_SETUP_TIMEOUT-300}
  export MILABENCH_STEP_TIMEOUT=${MILABENCH_STEP_TIMEOUT-100}
  export TORCH_FR_BUFFER_SIZE=${TORCH_FR_BUFFER_SIZE-2000}
  export TORCH_NCCL_DUMP_ON_TIMEOUT=${TORCH_NCCL_DUMP_ON_TIMEOUT-1}
  export TORCH_NCCL_DEBUG_INFO_TEMP_FILE=${TORCH_NCCL_DEBUG_INFO_TEMP_FILE-runs/dry/llama-8b-fsdp-float8/flight_recorder.rank}
  start llama-8b-fsdp-float8.0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -m torch.distributed.run --nnodes=1 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=localhost:0 --local-addr=localhost --rdzv-id=llama-8b-fsdp-float8.0 benchmarks/gpt/main.py --model llama3-8b --block-size 8192 --batch-size 2 --fit-batch --dtype fp32 --optimizer adamw --lr 0.0001 --steps 20 --seconds 30 --warmup 10 --mode fsdp --mixed-precision bf16 --reduce-dtype fp32 --activation selective --clip-norm 1 --compile inductor --float8 tensorwise & pids+=($!)
  join llama-8b-fsdp-float8.0.metrics
) || failed+=(llama-8b-fsdp-float8)

echo "---"
echo gpt-1.3b-fsdp
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/gpt-1.3b-fsdp/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/gpt-1.3b-fsdp/cache/triton}
  export MILABENCH_SETUP_TIMEOUT=${MILABENCH_SETUP_TIMEOUT-300}
  export MILABENCH_STEP_TIMEOUT=${MILABENCH_STEP_TIMEOUT-100}
  export TORCH_FR_BUFFER_SIZE=${TORCH_FR_BUFFER_SIZE-2000}
  export TORCH_NCCL_DUMP_ON_TIMEOUT=${TORCH_NCCL_DUMP_ON_TIMEOUT-1}
  export TORCH_NCCL_DEBUG_INFO_TEMP_FILE=${TORCH_NCCL_DEBUG_INFO_TEMP_FILE-runs/dry/gpt-1.3b-fsdp/flight_recorder.rank}
  start gpt-1.3b-fsdp.0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -m torch.distributed.run --nnodes=1 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=localhost:0 --local-addr=localhost --rdzv-id=gpt-1.3b-fsdp.0 benchmarks/gpt/main.py --model GPT1B --block-size 2048 --batch-size 14 --fit-batch --dtype amp --optimizer adamw --lr 0.0001 --steps 20 --seconds 30 --warmup 10 --mode fsdp --vocab-size 50368 & pids+=($!)
  join gpt-1.3b-fsdp.0.metrics
) || failed+=(gpt-1.3b-fsdp)

echo "---"
echo bert-ddp
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/bert-ddp/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/bert-ddp/cache/triton}
  export MILABENCH_SETUP_TIMEOUT=${MILABENCH_SETUP_TIMEOUT-300}
  export MILABENCH_STEP_TIMEOUT=${MILABENCH_STEP_TIMEOUT-100}
  export TORCH_FR_BUFFER_SIZE=${TORCH_FR_BUFFER_SIZE-2000}
  export TORCH_NCCL_DUMP_ON_TIMEOUT=${TORCH_NCCL_DUMP_ON_TIMEOUT-1}
  export TORCH_NCCL_DEBUG_INFO_TEMP_FILE=${TORCH_NCCL_DEBUG_INFO_TEMP_FILE-runs/dry/bert-ddp/flight_recorder.rank}
  start bert-ddp.0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -m torch.distributed.run --nnodes=1 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=localhost:0 --local-addr=localhost --rdzv-id=bert-ddp.0 benchmarks/transformers/main.py --fit-batch --precision amp --steps 20 --seconds 30 --warmup 10 --model hf_Bert --mode ddp --batch-size 128 & pids+=($!)
  join bert-ddp.0.metrics
) || failed+=(bert-ddp)

echo "---"
echo bert-pipeline
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/bert-pipeline/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/bert-pipeline/cache/triton}
  export MILABENCH_SETUP_TIMEOUT=${MILABENCH_SETUP_TIMEOUT-300}
  export MILABENCH_STEP_TIMEOUT=${MILABENCH_STEP_TIMEOUT-100}
  export TORCH_FR_BUFFER_SIZE=${TORCH_FR_BUFFER_SIZE-2000}
  export TORCH_NCCL_DUMP_ON_TIMEOUT=${TORCH_NCCL_DUMP_ON_TIMEOUT-1}
  export TORCH_NCCL_DEBUG_INFO_TEMP_FILE=${TORCH_NCCL_DEBUG_INFO_TEMP_FILE-runs/dry/bert-pipeline/flight_recorder.rank}
  start bert-pipeline.0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -m torch.distributed.run --nnodes=1 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=localhost:0 --local-addr=localhost --rdzv-id=bert-pipeline.0 benchmarks/transformers/main.py --fit-batch --precision amp --steps 20 --seconds 30 --warmup 10 --model hf_Bert --mode pipeline --schedule 1F1B --batch-size 128 & pids+=($!)
  join bert-pipeline.0.metrics
) || failed+=(bert-pipeline)

echo "---"
echo bert-large-ddp
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/bert-large-ddp/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/bert-large-ddp/cache/triton}
  export MILABENCH_SETUP_TIMEOUT=${MILABENCH_SETUP_TIMEOUT-300}
  export MILABENCH_STEP_TIMEOUT=${MILABENCH_STEP_TIMEOUT-100}
  export TORCH_FR_BUFFER_SIZE=${TORCH_FR_BUFFER_SIZE-2000}
  export TORCH_NCCL_DUMP_ON_TIMEOUT=${TORCH_NCCL_DUMP_ON_TIMEOUT-1}
  export TORCH_NCCL_DEBUG_INFO_TEMP_FILE=${TORCH_NCCL_DEBUG_INFO_TEMP_FILE-runs/dry/bert-large-ddp/flight_recorder.rank}
  start bert-large-ddp.0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -m torch.distributed.run --nnodes=1 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=localhost:0 --local-addr=localhost --rdzv-id=bert-large-ddp.0 benchmarks/transformers/main.py --fit-batch --precision amp --steps 20 --seconds 30 --warmup 10 --model hf_Bert_large --mode ddp --batch-size 64 & pids+=($!)
  join bert-large-ddp.0.metrics
) || failed+=(bert-large-ddp)

echo "---"
echo gpt2-large-fsdp
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/gpt2-large-fsdp/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/gpt2-large-fsdp/cache/triton}
  export MILABENCH_SETUP_TIMEOUT=${MILABENCH_SETUP_TIMEOUT-300}
  export MILABENCH_STEP_TIMEOUT=${MILABENCH_STEP_TIMEOUT-100}
  export TORCH_FR_BUFFER_SIZE=${TORCH_FR_BUFFER_SIZE-2000}
  export TORCH_NCCL_DUMP_ON_TIMEOUT=${TORCH_NCCL_DUMP_ON_TIMEOUT-1}
  export TORCH_NCCL_DEBUG_INFO_TEMP_FILE=${TORCH_NCCL_DEBUG_INFO_TEMP_FILE-runs/dry/gpt2-large-fsdp/flight_recorder.rank}
  start gpt2-large-fsdp.0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -m torch.distributed.run --nnodes=1 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=localhost:0 --local-addr=localhost --rdzv-id=gpt2-large-fsdp.0 benchmarks/transformers/main.py --fit-batch --precision amp --steps 20 --seconds 30 --warmup 10 --model hf_GPT2_large --mode fsdp --batch-size 24 & pids+=($!)
  join gpt2-large-fsdp.0.metrics
) || failed+=(gpt2-large-fsdp)

echo "---"
echo t5-large-fsdp
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/t5-large-fsdp/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/t5-large-fsdp/cache/triton}
  export MILABENCH_SETUP_TIMEOUT=${MILABENCH_SETUP_TIMEOUT-300}
  export MILABENCH_STEP_TIMEOUT=${MILABENCH_STEP_TIMEOUT-100}
  export TORCH_FR_BUFFER_SIZE=${TORCH_FR_BUFFER_SIZE-2000}
  export TORCH_NCCL_DUMP_ON_TIMEOUT=${TORCH_NCCL_DUMP_ON_TIMEOUT-1}
  export TORCH_NCCL_DEBUG_INFO_TEMP_FILE=${TORCH_NCCL_DEBUG_INFO_TEMP_FILE-runs/dry/t5-large-fsdp/flight_recorder.rank}
  start t5-large-fsdp.0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -m torch.distributed.run --nnodes=1 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=localhost:0 --local-addr=localhost --rdzv-id=t5-large-fsdp.0 benchmarks/transformers/main.py --fit-batch --precision amp --steps 20 --seconds 30 --warmup 10 --model hf_T5_large --mode fsdp --batch-size 32 & pids+=($!)
  join t5-large-fsdp.0.metrics
) || failed+=(t5-large-fsdp)

echo "---"
echo vit-large-fsdp
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/vit-large-fsdp/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/vit-large-fsdp/cache/triton}
  export MILABENCH_SETUP_TIMEOUT=${MILABENCH_SETUP_TIMEOUT-300}
  export MILABENCH_STEP_TIMEOUT=${MILABENCH_STEP_TIMEOUT-100}
  export TORCH_FR_BUFFER_SIZE=${TORCH_FR_BUFFER_SIZE-2000}
  export TORCH_NCCL_DUMP_ON_TIMEOUT=${TORCH_NCCL_DUMP_ON_TIMEOUT-1}
  export TORCH_NCCL_DEBUG_INFO_TEMP_FILE=${TORCH_NCCL_DEBUG_INFO_TEMP_FILE-runs/dry/vit-large-fsdp/flight_recorder.rank}
  start vit-large-fsdp.0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -m torch.distributed.run --nnodes=1 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=localhost:0 --local-addr=localhost --rdzv-id=vit-large-fsdp.0 benchmarks/transformers/main.py --fit-batch --precision amp --steps 20 --seconds 30 --warmup 10 --model hf_ViT_large --mode fsdp --batch-size 64 & pids+=($!)
  join vit-large-fsdp.0.metrics
) || failed+=(vit-large-fsdp)

echo "---"
echo resnet152-ddp
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/resnet152-ddp/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/resnet152-ddp/cache/triton}
  export MILABENCH_SETUP_TIMEOUT=${MILABENCH_SETUP_TIMEOUT-300}
  export MILABENCH_STEP_TIMEOUT=${MILABENCH_STEP_TIMEOUT-100}
  export TORCH_FR_BUFFER_SIZE=${TORCH_FR_BUFFER_SIZE-2000}
  export TORCH_NCCL_DUMP_ON_TIMEOUT=${TORCH_NCCL_DUMP_ON_TIMEOUT-1}
  export TORCH_NCCL_DEBUG_INFO_TEMP_FILE=${TORCH_NCCL_DEBUG_INFO_TEMP_FILE-runs/dry/resnet152-ddp/flight_recorder.rank}
  start resnet152-ddp.0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -m torch.distributed.run --nnodes=1 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=localhost:0 --local-addr=localhost --rdzv-id=resnet152-ddp.0 benchmarks/torchvision_ddp/main.py --model resnet152 --batch-size 128 --fit-batch --image-size 224 --precision amp --channels-last --steps 20 --seconds 30 --warmup 20 & pids+=($!)
  join resnet152-ddp.0.metrics
) || failed+=(resnet152-ddp)

echo "---"
echo vit-l-16-fsdp
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/vit-l-16-fsdp/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/vit-l-16-fsdp/cache/triton}
  export MILABENCH_SETUP_TIMEOUT=${MILABENCH_SETUP_TIMEOUT-300}
  export MILABENCH_STEP_TIMEOUT=${MILABENCH_STEP_TIMEOUT-100}
  export TORCH_FR_BUFFER_SIZE=${TORCH_FR_BUFFER_SIZE-2000}
  export TORCH_NCCL_DUMP_ON_TIMEOUT=${TORCH_NCCL_DUMP_ON_TIMEOUT-1}
  export TORCH_NCCL_DEBUG_INFO_TEMP_FILE=${TORCH_NCCL_DEBUG_INFO_TEMP_FILE-runs/dry/vit-l-16-fsdp/flight_recorder.rank}
  start vit-l-16-fsdp.0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -m torch.distributed.run --nnodes=1 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=localhost:0 --local-addr=localhost --rdzv-id=vit-l-16-fsdp.0 benchmarks/torchvision_ddp/main.py --model vit_l_16 --batch-size 64 --fit-batch --image-size 224 --precision amp --steps 20 --seconds 30 --warmup 20 --mode fsdp & pids+=($!)
  join vit-l-16-fsdp.0.metrics
) || failed+=(vit-l-16-fsdp)

echo "---"
echo resnet50-e2e
echo "===="
# `run` ends it after 600 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-600}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-runs/dry/resnet50-e2e/cache/inductor}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-runs/dry/resnet50-e2e/cache/triton}
  export MILABENCH_SETUP_TIMEOUT=${MILABENCH_SETUP_TIMEOUT-300}
  export MILABENCH_STEP_TIMEOUT=${MILABENCH_STEP_TIMEOUT-100}
  export TORCH_FR_BUFFER_SIZE=${TORCH_FR_BUFFER_SIZE-2000}
  export TORCH_NCCL_DUMP_ON_TIMEOUT=${TORCH_NCCL_DUMP_ON_TIMEOUT-1}
  export TORCH_NCCL_DEBUG_INFO_TEMP_FILE=${TORCH_NCCL_DEBUG_INFO_TEMP_FILE-runs/dry/resnet50-e2e/flight_recorder.rank}
  start resnet50-e2e.0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID <python> -m torch.distributed.run --nnodes=1 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=localhost:0 --local-addr=localhost --rdzv-id=resnet50-e2e.0 benchmarks/torchvision_ddp/main.py --model resnet50 --batch-size 256 --fit-batch --image-size 224 --precision amp --channels-last --steps 20 --seconds 30 --warmup 20 --trainer e2e --num-workers 8 & pids+=($!)
  join resnet50-e2e.0.metrics
) || failed+=(resnet50-e2e)

if [ "${#failed[@]}" -gt 0 ]; then echo "failed: ${failed[*]}" >&2; exit 1; fi
