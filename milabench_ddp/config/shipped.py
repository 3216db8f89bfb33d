"""The configurations, runner profiles and benchmarks that come with the package."""

from collections.abc import Iterable
from pathlib import Path

from ..errors import ConfigError, did_you_mean
from .tree import expanded, shown

_PACKAGE = Path(__file__).resolve().parent.parent


def shipped_root() -> Path:
    """The folder that holds the shipped ``config/``, ``runners/`` and ``benchmarks/``.

    In a wheel that is a folder inside the package; in a checkout, the top of the repository.
    """
    inside = _PACKAGE / "shipped"
    return inside if inside.is_dir() else _PACKAGE.parent


def shipped_files(folder: str) -> dict[str, Path]:
    """The YAML files of ``config`` or ``runners`` that are shipped, by their names, in order."""
    top = shipped_root() / folder
    files = {}
    for file in sorted(top.rglob("*.yaml")):
        name = file.relative_to(top).with_suffix("")
        files[str(name)] = file
    return files


def find_shipped(folder: str, name: str) -> Path | None:
    """The shipped file of that name, such as ``ddp`` or ``sweeps/small``; None without one."""
    return shipped_files(folder).get(name.removesuffix(".yaml"))


def not_found(folder: str, kind: str, name: str, others: Iterable[str] = ()) -> str:
    """The message for a name that is neither a file nor a shipped file.

    Args:
        folder: the folder of the shipped files: ``config`` or ``runners``.
        kind: the word for them in the message.
        name: the name as it was given.
        others: other names that the user may have meant.
    """
    shipped = [known for known in shipped_files(folder) if "/_" not in f"/{known}"]
    hint = did_you_mean(name, [*shipped, *others])
    if not hint:
        hint = f"; shipped: {', '.join(shipped) or 'none'}"
    return f"{name}: no such file, and no shipped {kind} of that name{hint}"


def find_config(config: str) -> Path:
    """The file that ``config`` means: a path, or else the name of a shipped configuration.

    Raises ConfigError, with a suggestion, if it is neither.
    """
    path = expanded(config)
    if path.exists() and not path.is_dir():  # also a pipe
        return path
    shipped = find_shipped("config", config)
    if shipped is not None:
        return shipped
    if path.is_dir():
        raise ConfigError(f"{shown(path)}: a folder, not a configuration file")
    beside = map(shown, path.parent.glob("*.yaml"))
    raise ConfigError(not_found("config", "configuration", config, beside))
