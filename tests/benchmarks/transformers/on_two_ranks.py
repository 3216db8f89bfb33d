"""Trains tiny models in several modes, one after the other in one process group.

One group, because to destroy it and begin another for each program hung in some of the runs
(torch 2.15, gloo; why is not known).
"""

import os
import sys
from pathlib import Path

import torch.distributed as dist

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from tests.support.programs import program

MODES = (
    "--model hf_Bert --mode ddp",
    "--model hf_T5 --mode fsdp --activation checkpoint",
    "--model hf_ViT_large --mode tp",
    "--model hf_GPT2 --mode pipeline",
)

if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = "1"
    main = program("transformers").main
    leave = dist.destroy_process_group
    dist.destroy_process_group = lambda: None
    for mode in MODES:
        small = "--device cpu --scale tiny --layers 2 --steps 3 --warmup 1 --check-correctness"
        main([*mode.split(), *small.split()])
        dist.init_process_group = lambda *args, **settings: None
    leave()
