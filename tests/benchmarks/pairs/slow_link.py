"""The program ``pairs``, with a link between ranks 1 and 2 that is slow from 1 to 2."""

import sys
import time
from pathlib import Path

import torch.distributed as dist

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from benchmarks.pairs.main import main

exchange = dist.batch_isend_irecv


def slow(operations):
    """Send and receive; from rank 1 to rank 2 after 20 ms."""
    for each in operations:
        if each.op is dist.isend and (dist.get_rank(), each.peer) == (1, 2):
            time.sleep(0.02)
    return exchange(operations)


dist.batch_isend_irecv = slow
main()
