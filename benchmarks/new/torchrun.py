"""Trains a small network on all devices with DDP; each rank tells milabench its own rate."""

import argparse
import gc
import json
import os
import time

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=64, help="of each rank")
parser.add_argument("--observations", type=int, default=100, help="of 10 steps each")
args = parser.parse_args()

device = torch.device(os.environ.get("MILABENCH_DEVICE", "cpu"))  # the one that is measured
if device.type == "cuda":
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
rank = distributed.get_rank()

model = nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 10)).to(device)
model = DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
inputs = torch.randn(args.batch_size, 512, device=device)
targets = torch.randint(10, (args.batch_size,), device=device)

with open(os.environ.get("MILABENCH_METRICS", "/dev/stdout"), "a", buffering=1) as metrics:
    for number in range(-5, args.observations):  # the first 5 are the warm-up
        start = time.perf_counter()
        for _ in range(10):
            loss = nn.functional.cross_entropy(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        line = {"task": "train", "rank": rank, "units": "items/s", "steps": 10}
        line["warmup"] = number < 0
        line["loss"] = loss.item()  # waits for the device, so the time is that of the steps
        line["rate"] = 10 * args.batch_size / (time.perf_counter() - start)
        print(json.dumps(line), file=metrics)
del model, optimizer, loss
gc.collect()  # frees what DDP made: its threads would outlive Python
distributed.destroy_process_group()
