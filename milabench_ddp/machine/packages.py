"""The versions of what is installed, read without importing any of it."""

import ast
from collections.abc import Sequence
from importlib.metadata import Distribution, DistributionFinder, MetadataPathFinder
from pathlib import Path
from typing import Any

PACKAGES = (
    "torch",
    "torchvision",
    "transformers",
    "triton",
    "numpy",
    "voir",
    "nvidia-ml-py",
)


def versions(path: Sequence[str]) -> dict[str, str]:
    """The version of each package of interest that is installed on the import path ``path``."""
    found = {name: _version(name, path) for name in PACKAGES}
    return {name: version for name, version in found.items() if version is not None}


def torch_build(path: Sequence[str]) -> dict[str, Any]:
    """How the torch on the import path ``path`` was built; empty without one.

    ``torch`` (its version), ``cuda`` and ``hip`` (versions), ``debug`` and ``git_version`` as
    ``torch/version.py`` says, and the versions of the packages of ``nccl`` and ``cudnn`` for it.
    Those are left out where torch brings its own copy, as builds from source do.
    """
    torch = _distribution("torch", path)
    if torch is None:
        return {}
    said = _constants(torch)
    build: dict[str, Any] = {"torch": said.get("__version__", torch.version)}
    build |= {key: said[key] for key in ("cuda", "hip", "debug", "git_version") if key in said}
    if isinstance(build.get("cuda"), str):
        major = build["cuda"].split(".")[0]
        libraries = {name: _version(f"nvidia-{name}-cu{major}", path) for name in ("nccl", "cudnn")}
        build |= {name: version for name, version in libraries.items() if version is not None}
    return build


def _constants(torch: Distribution) -> dict[str, Any]:
    """The constants that ``torch/version.py`` assigns: executing it is not needed."""
    try:
        source = Path(str(torch.locate_file("torch/version.py"))).read_text()
    except OSError:
        return {}
    constants = {}
    for statement in ast.parse(source).body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=value)):
                constants[name] = value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Constant(value=value)):
                constants[name] = value
    return constants


def _version(name: str, path: Sequence[str]) -> str | None:
    found = _distribution(name, path)
    return None if found is None else found.version


def _distribution(name: str, path: Sequence[str]) -> Distribution | None:
    context = DistributionFinder.Context(name=name, path=list(path))
    return next(iter(MetadataPathFinder.find_distributions(context)), None)
