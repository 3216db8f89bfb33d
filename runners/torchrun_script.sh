#!/usr/bin/env bash
# Runs torchrun on each node of a Slurm job step, as in PyTorch's DDP tutorial, with bash alone.
#
#     srun --nodes=2 --gres=gpu:2 runners/torchrun_script.sh
#     srun --nodes=2 --gres=gpu:2 runners/torchrun_script.sh benchmarks/torchvision_ddp/main.py --steps 50
#
# Run from the top of a checkout, with an interpreter that has torch: $PYTHON, or else python3.
# A node has one rank for each GPU of CUDA_VISIBLE_DEVICES, or $RANKS ranks; the rendezvous is on
# the first node of the job. Set NCCL_SOCKET_IFNAME, GLOO_SOCKET_IFNAME and the like in the
# environment, as the cluster needs them.
set -euo pipefail

python=${PYTHON:-python3}
program=("${@:-benchmarks/elastic_ddp/main.py}")

first=$(scontrol show hostnames "$SLURM_STEP_NODELIST" | head -n 1)
# Jobs that share a node must not share a port: 10,000 ports, chosen by the job and the step.
port=$((20000 + (SLURM_JOB_ID * 16 + ${SLURM_STEP_ID:-0} % 16) % 10000))
IFS=, read -ra devices <<<"${CUDA_VISIBLE_DEVICES:-}"
ranks=${RANKS:-${#devices[@]}}
[ "$ranks" -gt 0 ] || { echo "no GPU: ask for some with --gres=gpu:N, or set RANKS" >&2; exit 2; }

exec "$python" -m torch.distributed.run \
  --nnodes="$SLURM_NNODES" --nproc-per-node="$ranks" \
  --rdzv-backend=static --node-rank="$SLURM_NODEID" \
  --rdzv-endpoint="$first:$port" --rdzv-id="$SLURM_JOB_ID.${SLURM_STEP_ID:-0}" \
  "${program[@]}"
