"""Benchmarks of distributed training: YAML to plan to processes to results to report."""

__version__ = "0.1.0"
