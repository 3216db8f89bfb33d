#!/usr/bin/env bash
#SBATCH --job-name=milabench_ddp
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gres=gpu:2
#SBATCH --time=00:30:00
# runners/torchrun_script.sh as a batch job; options of sbatch win over the lines above.
#
#     sbatch runners/srun.sh
#     sbatch --nodes=4 --gres=gpu:8 runners/srun.sh benchmarks/torchvision_ddp/main.py --steps 50
set -euo pipefail
cd "$SLURM_SUBMIT_DIR"

exec srun --kill-on-bad-exit=1 runners/torchrun_script.sh "$@"
