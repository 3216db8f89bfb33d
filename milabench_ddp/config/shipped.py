"""The configurations and benchmarks that come with the package."""

from pathlib import Path

from ..errors import ConfigError, did_you_mean
from .tree import expanded, shown

_PACKAGE = Path(__file__).resolve().parent.parent


def shipped_root() -> Path:
    """The folder that holds the shipped ``config/`` and ``benchmarks/``.

    In a wheel that is a folder inside the package; in a checkout, the top of the repository.
    """
    inside = _PACKAGE / "shipped"
    return inside if inside.is_dir() else _PACKAGE.parent


def find_config(config: str) -> Path:
    """The file that ``config`` means: a path, or else the name of a shipped configuration.

    Raises ConfigError where it is neither, with a suggestion.
    """
    path = expanded(config)
    if path.exists() and not path.is_dir():  # also a pipe
        return path
    named = shipped_config(config)
    if named is not None:
        return named
    if path.is_dir():
        raise ConfigError(f"{shown(path)}: a folder, not a configuration file")
    names = _names()
    near = [*names, *map(shown, path.parent.glob("*.yaml"))]
    hint = did_you_mean(config, near) or f"; shipped are: {', '.join(names) or 'none'}"
    raise ConfigError(f"{config}: no such file, and no shipped configuration of that name{hint}")


def shipped_config(name: str) -> Path | None:
    """The shipped configuration ``ddp`` or ``sweeps/x``, None where there is none."""
    folder = shipped_root() / "config"
    path = folder / f"{name.removesuffix('.yaml')}.yaml"
    inside = not Path(name).is_absolute() and ".." not in Path(name).parts
    return path if inside and path.is_file() else None


def _names() -> list[str]:
    folder = shipped_root() / "config"
    names = []
    for file in folder.rglob("*.yaml"):
        if not file.name.startswith("_"):
            names.append(str(file.relative_to(folder).with_suffix("")))
    return sorted(names)
