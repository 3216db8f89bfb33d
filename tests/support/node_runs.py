"""What tests of launches on one node share."""

from milabench_ddp.results.write import DataHeader

RATE = """
import json, os
print(os.environ["MILABENCH_TRACES"], flush=True)
with open(os.environ["MILABENCH_METRICS"], "w") as channel:
    channel.write(json.dumps({"task": "train", "rate": 7.0, "units": "items/s"}) + "\\n")
"""
HEADER = DataHeader("r", "cpu", {})
LONG = 600.0  # seconds
