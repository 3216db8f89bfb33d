"""The configurations, runner profiles and benchmarks that come with the package."""

from pathlib import Path

from ..errors import ConfigError, did_you_mean
from .tree import expanded, shown

_PACKAGE = Path(__file__).resolve().parent.parent
# In ``config``, and no configurations: see ``published.py``, ``audited.py`` and ``xids.py``.
DATA = ("data_sheets", "published", "settings", "xids")


def shipped_root() -> Path:
    """The folder that holds the shipped ``config/``, ``runners/`` and ``benchmarks/``.

    In a wheel that is a folder inside the package; in a checkout, the top of the repository.
    """
    inside = _PACKAGE / "shipped"
    return inside if inside.is_dir() else _PACKAGE.parent


def shipped_files(folder: str) -> dict[str, Path]:
    """The YAML files of ``config`` or ``runners`` that are shipped, by their names, in order."""
    top = shipped_root() / folder
    files = sorted(file for file in top.rglob("*.yaml") if file.stem not in DATA)
    return {str(file.relative_to(top).with_suffix("")): file for file in files}


def shipped_suites() -> dict[str, str]:
    """What each shipped configuration asks, the first line of its file; templates begin with _."""
    found = {}
    for name, file in shipped_files("config").items():
        if "/_" not in f"/{name}":
            found[name] = file.read_text().partition("\n")[0].removeprefix("# ")
    return found


def find_shipped(folder: str, name: str) -> Path | None:
    """The shipped file of that name, such as ``ddp`` or ``sweeps/small``; None without one."""
    return shipped_files(folder).get(name.removesuffix(".yaml"))


def find_config(config: str) -> Path:
    """The file that ``config`` means: a path, or else the name of a shipped configuration."""
    return find_file("config", "configuration", config)


def find_file(folder: str, kind: str, name: str, option: str = "") -> Path:
    """The file of a path, or else of the name of a shipped file.

    Args:
        folder: the folder of the shipped files: ``config`` or ``runners``.
        kind: the word for them in messages.
        option: begins messages.
    """
    path = expanded(name)
    if path.exists() and not path.is_dir():  # also a pipe
        return path
    shipped = find_shipped(folder, name)
    if shipped is not None:
        return shipped
    if path.is_dir():
        raise ConfigError(f"{option}{shown(path)}: a folder, not a {kind} file")
    known = list(shipped_suites() if folder == "config" else shipped_files(folder))
    hint = did_you_mean(name, [*known, *map(shown, path.parent.glob("*.yaml"))])
    if not hint:
        hint = f"; shipped: {', '.join(known) or 'none'}"
    raise ConfigError(f"{option}{name}: no such file, and no shipped {kind} of that name{hint}")
