"""How the models of `transformers` are divided: pipeline stages, tensor parallel shards."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.distributed.tensor.parallel import ColwiseParallel, ParallelStyle, RowwiseParallel

from benchmarks.common.failure import SkippedError
from benchmarks.common.workload import balanced_cuts, repeated_blocks

# Ends of the names of matrices that are sharded by their outputs (heads, hidden units), and of
# those that are sharded by their inputs.
BY_OUTPUT = (
    *("self.query", "self.key", "self.value"),  # BERT
    *("attention.query", "attention.key", "attention.value"),  # ViT of transformers 4
    *("q_proj", "k_proj", "v_proj", "mlp.fc1", "intermediate.dense"),
)
BY_INPUT = ("o_proj", "mlp.fc2", "output.dense")


def tp_plan(model: nn.Module) -> dict[str, ParallelStyle]:
    """Shards heads and hidden units of the blocks; for BERT and ViT, whose heads are separable."""
    blocks = set(repeated_blocks(model))
    inside = tuple(f"{name}." for name, module in model.named_modules() if module in blocks)
    plan: dict[str, ParallelStyle] = {}
    for name, module in model.named_modules():
        if isinstance(module, nn.Linear) and name.startswith(inside):
            if name.endswith(BY_OUTPUT):
                plan[name] = ColwiseParallel()
            elif name.endswith(BY_INPUT):
                plan[name] = RowwiseParallel()
    return plan


def stages(model: nn.Module, count: int) -> list[nn.Module]:
    """The model as ``count`` stages that follow each other, balanced by their parameters.

    ``SkippedError`` if there are fewer parts than stages. T5 has two streams and no stages.
    """
    parts = _parts(model)
    if count > len(parts):
        raise SkippedError(
            f"a model of {len(parts) - 2} blocks and two ends cannot have {count} stages"
        )
    sizes = [sum(p.numel() for p in part.parameters_in(model)) for part in parts]
    return [Stage(model, parts[first:end]) for first, end in pairwise(balanced_cuts(sizes, count))]


@dataclass(frozen=True)
class Part:
    """Modules of a model, by their names in it, and the function that they compute."""

    names: Sequence[str]
    call: Callable[[nn.Module, Tensor], Tensor]  # (a module that has them, x)

    def parameters_in(self, model: nn.Module) -> Iterator[nn.Parameter]:
        """The parameters of these modules of ``model``."""
        for name in self.names:
            yield from model.get_submodule(name).parameters()


class Stage(nn.Module):
    """Some consecutive parts of a model; parameters have the names that they have in it."""

    def __init__(self, model: nn.Module, parts: Sequence[Part]) -> None:
        super().__init__()
        self._calls = [part.call for part in parts]
        for part in parts:
            for name in part.names:
                self._add(name, model.get_submodule(name))

    def _add(self, name: str, module: nn.Module) -> None:
        owner: nn.Module = self
        *path, last = name.split(".")
        for step in path:
            if not hasattr(owner, step):
                owner.add_module(step, nn.Module())
            owner = owner.get_submodule(step)
        owner.add_module(last, module)

    def forward(self, x: Tensor) -> Tensor:
        for call in self._calls:
            x = call(self, x)
        return x


def _parts(model: nn.Module) -> list[Part]:
    blocks = set(repeated_blocks(model))
    names = [name for name, module in model.named_modules() if module in blocks]
    first, last = _ENDS[type(model).__name__]
    return [first, *[Part([name], partial(_block, name)) for name in names], last]


def _block(name: str, root: nn.Module, x: Tensor) -> Tensor:
    out = root.get_submodule(name)(x)
    return out[0] if isinstance(out, tuple) else out  # a tuple in transformers 4


def _gpt2_embedding(root: nn.Module, tokens: Tensor) -> Tensor:
    body = root.transformer
    positions = torch.arange(tokens.shape[1], device=tokens.device)
    return body.drop(body.wte(tokens) + body.wpe(positions))


_ENDS = {
    "BertForMaskedLM": (
        Part(["bert.embeddings"], lambda root, x: root.bert.embeddings(input_ids=x)),
        Part(["cls"], lambda root, x: root.cls(x)),
    ),
    "GPT2LMHeadModel": (
        Part([f"transformer.{name}" for name in ("wte", "wpe", "drop")], _gpt2_embedding),
        Part(
            ["transformer.ln_f", "lm_head"], lambda root, x: root.lm_head(root.transformer.ln_f(x))
        ),
    ),
    "ViTForImageClassification": (
        Part(["vit.embeddings"], lambda root, x: root.vit.embeddings(x)),
        Part(
            ["vit.layernorm", "classifier"],
            lambda root, x: root.classifier(root.vit.layernorm(x)[:, 0]),
        ),
    ),
}
