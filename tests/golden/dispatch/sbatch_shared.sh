#!/usr/bin/env bash
# made by a test

sbatch <<'MILABENCH_JOB'
#!/usr/bin/env bash
#SBATCH --job-name=all
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --time=30
#SBATCH --gpus-per-node=8
#SBATCH --signal=USR2@60
#SBATCH --partition=train
#SBATCH --account=mine
#SBATCH --exclusive=user
export MASTER_ADDR=
[ "${SLURM_DISTRIBUTION:-}" != arbitrary ] || MASTER_ADDR=$(paste -sd, "$SLURM_HOSTFILE")
export MASTER_PORT=$((20000 + SLURM_JOB_ID % 10000))
srun bash -c 'export NODE_RANK=$SLURM_PROCID; MASTER_ADDR=$(scontrol show hostnames "${MASTER_ADDR:-$SLURM_STEP_NODELIST}" | head -n 1); exec bash -s' <<'MILABENCH_NODE'
eval 'module load cuda' </dev/null >&2 || { code=$?; echo 'the setup command failed: module load cuda' >&2; exit $code; }
export NCCL_SOCKET_IFNAME='en s'
#!/usr/bin/env bash
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

echo "---"
echo big
echo "===="
# `run` ends it after 60 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-60}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-16}
  if on 0; then start big.D0.node0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0 OMP_NUM_THREADS=16 CUDA_DEVICE_ORDER=PCI_BUS_ID /usr/bin/python3 -u /programs/main.py & pids+=($!); fi
  if on 1; then start big.D0.node1.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0 OMP_NUM_THREADS=16 CUDA_DEVICE_ORDER=PCI_BUS_ID /usr/bin/python3 -u /programs/main.py & pids+=($!); fi
  join big.D0.node0.metrics big.D0.node1.metrics
) || failed+=(big)

echo "---"
echo small
echo "===="
# `run` ends it after 60 s
time (
  pids=()
  trap stop HUP INT TERM
  export MILABENCH_MAX_DURATION=${MILABENCH_MAX_DURATION-60}
  export TORCHINDUCTOR_COMPILE_THREADS=${TORCHINDUCTOR_COMPILE_THREADS-16}
  if on 0; then start small.D0.metrics MILABENCH_DEVICE=cuda CUDA_VISIBLE_DEVICES=0 OMP_NUM_THREADS=16 CUDA_DEVICE_ORDER=PCI_BUS_ID /usr/bin/python3 -u /programs/main.py & pids+=($!); fi
  join small.D0.metrics
) || failed+=(small)

if [ "${#failed[@]}" -gt 0 ]; then echo "failed: ${failed[*]}" >&2; exit 1; fi
MILABENCH_NODE
MILABENCH_JOB
