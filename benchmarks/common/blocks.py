"""The repeated blocks of models that we did not write."""

from torch import nn


def rows(model: nn.Module) -> list[nn.Module]:
    """The outermost modules with parts of their own that stand in a row of such."""
    found: list[nn.Module] = []
    for child in model.children():
        row = type(model) in (nn.Sequential, nn.ModuleList)
        if row and type(child) is not nn.Sequential and any(child.children()):
            found.append(child)
        else:
            found += rows(child)
    return found
