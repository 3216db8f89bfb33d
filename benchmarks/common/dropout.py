"""Dropout of any model: whether it has some, and a model without it.

Models keep their probability in modules (``nn.Dropout``, ``StochasticDepth``) or in attributes of
their own whose names contain "drop" (``dropout_rate``, ``attention_dropout``).
"""

from collections.abc import Iterator

from torch import nn


def has_dropout(model: nn.Module) -> bool:
    return any(getattr(owner, name) for owner, name in _probabilities(model))


def without_dropout(model: nn.Module) -> nn.Module:
    """The same model, with every probability set to 0."""
    for owner, name in _probabilities(model):
        setattr(owner, name, 0.0)
    return model


def _probabilities(model: nn.Module) -> Iterator[tuple[nn.Module, str]]:
    for module in model.modules():
        kind = type(module).__name__.lower()
        for name, value in list(vars(module).items()):
            own = name == "p" and ("drop" in kind or kind == "stochasticdepth")
            if isinstance(value, float) and (own or "drop" in name):
                yield module, name
