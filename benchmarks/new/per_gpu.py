"""Trains a small network on one device, and tells milabench the rate of every ten steps."""

import argparse
import json
import os
import time

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=64)
parser.add_argument("--observations", type=int, default=100, help="of 10 steps each")
args = parser.parse_args()

device = torch.device(os.environ.get("MILABENCH_DEVICE", "cpu"))  # the one that is measured
model = nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 10)).to(device)
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
        line = {"task": "train", "rank": 0, "units": "items/s", "steps": 10}
        line["warmup"] = number < 0
        line["loss"] = loss.item()  # waits for the device, so the time is that of the steps
        line["rate"] = 10 * args.batch_size / (time.perf_counter() - start)
        print(json.dumps(line), file=metrics)
