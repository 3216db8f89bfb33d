"""A training script that knows nothing of how it is measured."""

import argparse

import torch
from torch import nn


def train(steps, batch_size):
    """Train a small network; each step has the variable ``batch``, which voirfile.py names."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 10)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    inputs = torch.randn(batch_size, 512, device=device)
    targets = torch.randint(10, (batch_size,), device=device)
    for _ in range(steps):
        batch = inputs, targets
        loss = nn.functional.cross_entropy(model(batch[0]), batch[1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--steps", type=int, default=1_000_000)
    args = parser.parse_args()
    train(args.steps, args.batch_size)
