"""A small transformer that trains, and shows every tensor that it computes.

Weights and inputs begin as whole numbers over a power of two, drawn on the host: so they are the
same bits on every device, and in every type. Attention is written out, because fused kernels of
some devices add in no fixed order.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

Seen = Callable[[str, Tensor], None]

LAYERS = 2
HEAD = 64  # the largest width of an attention head
LEARNING_RATE, MOMENTUM = 2.0**-6, 0.875  # doubles without rounding, on every host


def whole_numbers(shape: tuple[int, ...], scale: float, generator: torch.Generator) -> Tensor:
    """Random multiples of ``scale / 128`` between ``-scale`` and ``scale``, on the host."""
    drawn = torch.randint(-127, 128, shape, generator=generator, dtype=torch.int32)
    return drawn.to(torch.float32) * (scale / 128)


class Network:
    """A transformer of two layers that learns one batch of tokens by heart."""

    def __init__(
        self,
        width: int,
        tokens: int,
        dtype: torch.dtype,
        device: torch.device,
        seed: int,
        seen: Seen,
    ) -> None:
        """Draw the first weights; ``seen`` gets each tensor at once after it was computed."""
        self._heads = max(width // HEAD, 1)
        generator = torch.Generator().manual_seed(seed)

        def placed(values: Tensor) -> Tensor:
            return values.to(device=device, dtype=dtype)

        def matrix(rows: int, columns: int) -> Tensor:
            scale = 2.0 ** -round(math.log2(math.sqrt(columns / 3)))
            return placed(whole_numbers((rows, columns), scale, generator))

        self._start = {"embedding": matrix(width, width)}
        for layer in range(LAYERS):
            for name in ("attention", "feed-forward"):
                self._start[f"layer {layer} {name} norm"] = placed(torch.ones(width))
            self._start[f"layer {layer} qkv"] = matrix(3 * width, width)
            self._start[f"layer {layer} projection"] = matrix(width, width)
            self._start[f"layer {layer} up"] = matrix(4 * width, width)
            self._start[f"layer {layer} down"] = matrix(width, 4 * width)
        self._start["head"] = matrix(width, width)
        self._inputs = placed(whole_numbers((tokens, width), 1.0, generator))
        self._targets = placed(whole_numbers((tokens, width), 1.0, generator))
        self._weights = {name: nn.Parameter(value.clone()) for name, value in self._start.items()}
        self._seen = seen
        for name, weight in self._weights.items():
            weight.register_post_accumulate_grad_hook(self._shows_gradient(name))
        self._optimizer = self._new_optimizer()

    def restart(self) -> None:
        """Go back to the first weights."""
        with torch.no_grad():
            for name, weight in self._weights.items():
                weight.copy_(self._start[name])
        self._optimizer = self._new_optimizer()

    def step(self) -> Tensor:
        """Train one step; returns its loss."""
        self._optimizer.zero_grad()
        loss = self._loss()
        loss.backward()
        self._optimizer.step()
        for name, weight in self._weights.items():
            self._seen(f"{name}: weights", weight)
        return loss.detach()

    def _loss(self) -> Tensor:
        hidden = self._product("embedding", self._inputs)
        for layer in range(LAYERS):
            name = f"layer {layer}"
            hidden = hidden + self._attention(name, hidden)
            inner = self._product(f"{name} up", self._norm(f"{name} feed-forward", hidden))
            hidden = hidden + self._product(f"{name} down", functional.gelu(inner))
        loss = functional.mse_loss(self._product("head", hidden).float(), self._targets.float())
        self._seen("loss", loss)
        return loss

    def _attention(self, name: str, hidden: Tensor) -> Tensor:
        tokens, width = hidden.shape
        qkv = self._product(f"{name} qkv", self._norm(f"{name} attention", hidden))
        q, k, v = qkv.view(tokens, 3, self._heads, -1).permute(1, 2, 0, 3)
        scores = functional.softmax(q @ k.transpose(1, 2) / math.sqrt(q.shape[-1]), dim=-1)
        self._seen(f"{name} attention: scores", scores)
        mixed = (scores @ v).transpose(0, 1).reshape(tokens, width)
        self._seen(f"{name} attention: values", mixed)
        return self._product(f"{name} projection", mixed)

    def _product(self, name: str, values: Tensor) -> Tensor:
        product = functional.linear(values, self._weights[name])
        self._seen(f"{name}: product", product)
        return product

    def _norm(self, name: str, values: Tensor) -> Tensor:
        weight = self._weights[f"{name} norm"]
        normal = functional.layer_norm(values, weight.shape, weight)
        self._seen(f"{name} norm: values", normal)
        return normal

    def _shows_gradient(self, name: str) -> Callable[[Tensor], None]:
        def show(weight: Tensor) -> None:
            assert weight.grad is not None
            self._seen(f"{name}: gradient", weight.grad)

        return show

    def _new_optimizer(self) -> torch.optim.Optimizer:
        weights = self._weights.values()
        return torch.optim.SGD(weights, LEARNING_RATE, MOMENTUM, foreach=False, fused=False)
