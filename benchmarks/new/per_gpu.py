"""Trains a small network on one device, and tells milabench the rate of each step."""

import argparse
import json
import os
import time

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=64)
parser.add_argument("--steps", type=int, default=500)
args = parser.parse_args()

device = torch.device(os.environ.get("MILABENCH_DEVICE", "cpu"))  # the one that is measured
model = nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 10)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
inputs = torch.randn(args.batch_size, 512, device=device)
targets = torch.randint(10, (args.batch_size,), device=device)

with open(os.environ.get("MILABENCH_METRICS", "/dev/stdout"), "a", buffering=1) as metrics:
    for step in range(-20, args.steps):  # the first 20 are the warm-up
        start = time.perf_counter()
        loss = nn.functional.cross_entropy(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        line = {"task": "train", "rank": 0, "steps": 1, "units": "items/s", "warmup": step < 0}
        line["loss"] = loss.item()  # waits for the device, so the time is that of the step
        line["rate"] = args.batch_size / (time.perf_counter() - start)
        print(json.dumps(line), file=metrics)
