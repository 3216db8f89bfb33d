#!/usr/bin/env bash
# a comment
# in two lines
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

# For 2 nodes: start this script on each node with NODE_RANK=0, 1, ..., with MASTER_ADDR set
# to the first node, and with MASTER_PORT set to a free port on it; several jobs also use the
# ports after it. Without NODE_RANK, this machine runs all nodes.
on() { [ -z "${NODE_RANK:-}" ] || [ "$NODE_RANK" -eq "$1" ]; }
if [ -n "${NODE_RANK:-}" ]; then : "${MASTER_ADDR:?}" "${MASTER_PORT:?}"; fi

free_port() {
  /usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("", 0)); print(s.getsockname()[1])'
}
case ${MASTER_PORT:-0} in *[!0-9]*) echo "MASTER_PORT is not a number" >&2; exit 2 ;; esac

echo "---"
echo 'flops R0'
echo "===="
# `run` ends it after 60 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-60}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-'/base/runs/a run/flops/cache/inductor'}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-'/base/runs/a run/flops/cache/triton'}
  if on 0; then start flops.R0.D0.node0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID A='x y' /usr/bin/python3 -u /programs/main.py --dtype fp16 --note 'it'"'"'s' & pids+=($!); fi
  if on 0; then start flops.R0.D1.node0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=1 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID A='x y' /usr/bin/python3 -u /programs/main.py --dtype fp16 --note 'it'"'"'s' & pids+=($!); fi
  if on 1; then start flops.R0.D0.node1.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID A='x y' /usr/bin/python3 -u /programs/main.py --dtype fp16 --note 'it'"'"'s' & pids+=($!); fi
  if on 1; then start flops.R0.D1.node1.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=1 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID A='x y' /usr/bin/python3 -u /programs/main.py --dtype fp16 --note 'it'"'"'s' & pids+=($!); fi
  join flops.R0.D0.node0.metrics flops.R0.D1.node0.metrics flops.R0.D0.node1.metrics flops.R0.D1.node1.metrics
) || failed+=('flops R0')

echo "---"
echo 'flops R1'
echo "===="
# `run` ends it after 60 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-60}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-'/base/runs/a run/flops/cache/inductor'}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-'/base/runs/a run/flops/cache/triton'}
  if on 0; then start flops.R1.D0.node0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID A='x y' /usr/bin/python3 -u /programs/main.py --dtype fp16 --note 'it'"'"'s' & pids+=($!); fi
  if on 0; then start flops.R1.D1.node0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=1 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID A='x y' /usr/bin/python3 -u /programs/main.py --dtype fp16 --note 'it'"'"'s' & pids+=($!); fi
  if on 1; then start flops.R1.D0.node1.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID A='x y' /usr/bin/python3 -u /programs/main.py --dtype fp16 --note 'it'"'"'s' & pids+=($!); fi
  if on 1; then start flops.R1.D1.node1.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=1 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID A='x y' /usr/bin/python3 -u /programs/main.py --dtype fp16 --note 'it'"'"'s' & pids+=($!); fi
  join flops.R1.D0.node0.metrics flops.R1.D1.node0.metrics flops.R1.D0.node1.metrics flops.R1.D1.node1.metrics
) || failed+=('flops R1')

echo "---"
echo ddp
echo "===="
# `run` ends it after 60 s
host=${MASTER_ADDR:-127.0.0.1} port=${MASTER_PORT:-$(free_port)}
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-60}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-8}
  export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR-'/base/runs/a run/ddp/cache/inductor'}
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR-'/base/runs/a run/ddp/cache/triton'}
  export MILABENCH_SETUP_TIMEOUT=${MILABENCH_SETUP_TIMEOUT-30}
  export MILABENCH_STEP_TIMEOUT=${MILABENCH_STEP_TIMEOUT-30}
  export TORCH_FR_BUFFER_SIZE=${TORCH_FR_BUFFER_SIZE-2000}
  export TORCH_NCCL_DUMP_ON_TIMEOUT=${TORCH_NCCL_DUMP_ON_TIMEOUT-1}
  export TORCH_NCCL_DEBUG_INFO_TEMP_FILE=${TORCH_NCCL_DEBUG_INFO_TEMP_FILE-'/base/runs/a run/ddp/flight_recorder.rank'}
  if on 0; then start ddp.0.node0.metrics PET_RDZV_ENDPOINT="$host:$((port + 0))" PET_NODE_RANK=0 MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID /usr/bin/python3 -m torch.distributed.run --nnodes=2 --nproc-per-node=1 --rdzv-backend=static --rdzv-id=ddp.0 /shipped/benchmarks/common/with_voir.py /programs/main.py & pids+=($!); fi
  if on 0; then start ddp.1.node0.metrics PET_RDZV_ENDPOINT="$host:$((port + 1))" PET_NODE_RANK=0 MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=1 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID /usr/bin/python3 -m torch.distributed.run --nnodes=2 --nproc-per-node=1 --rdzv-backend=static --rdzv-id=ddp.1 /shipped/benchmarks/common/with_voir.py /programs/main.py & pids+=($!); fi
  if on 1; then start ddp.0.node1.nolog.metrics PET_RDZV_ENDPOINT="$host:$((port + 0))" PET_NODE_RANK=1 MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID /usr/bin/python3 -m torch.distributed.run --nnodes=2 --nproc-per-node=1 --rdzv-backend=static --rdzv-id=ddp.0 /shipped/benchmarks/common/with_voir.py /programs/main.py & pids+=($!); fi
  if on 1; then start ddp.1.node1.nolog.metrics PET_RDZV_ENDPOINT="$host:$((port + 1))" PET_NODE_RANK=1 MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=1 OMP_NUM_THREADS=8 CUDA_DEVICE_ORDER=PCI_BUS_ID /usr/bin/python3 -m torch.distributed.run --nnodes=2 --nproc-per-node=1 --rdzv-backend=static --rdzv-id=ddp.1 /shipped/benchmarks/common/with_voir.py /programs/main.py & pids+=($!); fi
  join ddp.0.node0.metrics ddp.1.node0.metrics ddp.0.node1.nolog.metrics ddp.1.node1.nolog.metrics
) || failed+=(ddp)

if [ "${#failed[@]}" -gt 0 ]; then echo "failed: ${failed[*]}" >&2; exit 1; fi
