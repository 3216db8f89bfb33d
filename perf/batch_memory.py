"""The memory of the transformers of config/ddp.yaml by batch: prints config/_scaling.yaml.

    python perf/batch_memory.py

With fake tensors of a GPU, so on any machine, in a minute. For each benchmark and two batches it
adds up: weights, gradients and momentum in fp32, sharded over two ranks under FSDP; what autograd
keeps of a forward pass under autocast with fused attention; ten bytes for each score of a word,
which the loss needs at its peak beside the four that it keeps; and 2 GiB for context, NCCL and
workspaces.
"""

import sys
from pathlib import Path
from typing import Any

import torch
import torch.cuda.amp.common
import torch.nn.functional
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.transformers import models

BENCHMARKS = {  # name: (model, ranks that share its states)
    "bert-ddp": ("hf_Bert", 1),
    "bert-large-ddp": ("hf_Bert_large", 1),
    "gpt2-large-fsdp": ("hf_GPT2_large", 2),
    "t5-large-fsdp": ("hf_T5_large", 2),
    "vit-large-fsdp": ("hf_ViT_large", 2),
}
BATCHES = (8, 64)
STATES, SCORE, OVERHEAD = 12, 10, 2 * 2**30  # bytes


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    **_: Any,
) -> Tensor:
    """SDPA by the kernel that a GPU would choose: without a GPU PyTorch cannot ask it."""
    aten = torch.ops.aten
    if attn_mask is None:
        fused = aten._scaled_dot_product_flash_attention
        return fused(query, key, value, dropout_p, is_causal, scale=scale)[0]
    mask = attn_mask.expand(*query.shape[:3], key.shape[2])
    fused = aten._scaled_dot_product_efficient_attention
    return fused(query, key, value, mask, True, dropout_p, is_causal, scale=scale)[0]


def kept(model: nn.Module, size: models.Size, batch: int) -> int:
    """Bytes that autograd keeps of a forward pass, beside the parameters."""
    target = torch.zeros(batch, size.length, dtype=torch.long, device="cuda")
    inputs, loss = target, models.loss
    if size.family == "vit":
        inputs = torch.zeros(batch, 3, size.length, size.length, device="cuda")
        target = target[:, 0]
    elif size.family == "t5":
        loss = models.t5_loss
    known = {p.untyped_storage()._cdata for p in model.parameters()}
    storages = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage._cdata not in known:
            storages[storage._cdata] = storage
        return tensor

    hooks = torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor)
    with hooks, torch.autocast("cuda", torch.bfloat16):
        _loss = loss(model, (inputs, target))
        return sum(storage.nbytes() for storage in storages.values())


def main() -> None:
    """Print the scaling file."""
    import transformers

    transformers.PreTrainedModel.init_weights = lambda self: self.tie_weights()  # values are fake
    torch.cuda.amp.common.amp_definitely_not_available = lambda: False
    torch.cuda.is_bf16_supported = lambda *_, **__: True
    torch.nn.functional.scaled_dot_product_attention = attention
    print("version: 2")
    for name, (model, ranks) in BENCHMARKS.items():
        size = models.SIZES[model]
        with FakeTensorMode(), torch.device("cuda"):
            made = models.make(size).train()
            states = STATES * sum(p.numel() for p in made.parameters()) / ranks
            print(f"{name}:\n  observations:")
            for batch in BATCHES:
                scores = SCORE * batch * size.length * size.vocabulary
                total = states + kept(made, size, batch) + scores + OVERHEAD
                print(f"    - {{batch_size: {batch}, memory: {total / 2**20:.0f} MiB}}", flush=True)


if __name__ == "__main__":
    main()
