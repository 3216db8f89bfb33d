"""``milabench new``: write a benchmark of one's own to begin with."""

import re
import sys
from importlib.machinery import PathFinder
from pathlib import Path

from ..config.select import why_no_name
from ..config.shipped import shipped_root
from ..errors import ConfigError, SelectionError
from ..options.new import NewOptions

_NAME = "mine"  # in the templates
# The files of each kind, and the templates that they are made from.
_FILES = {
    "per_gpu": ("per_gpu.yaml", "per_gpu.py"),
    "torchrun": ("torchrun.yaml", "torchrun.py"),
    "voir": ("voir.yaml", "voir.py", "voirfile.py"),
    "sweep": ("sweep.yaml", "per_gpu.py"),
}


def main(options: NewOptions) -> int:
    asked = [kind for kind in _FILES if getattr(options, kind)]
    if len(asked) > 1:
        flags = ", ".join(f"--{kind.replace('_', '-')}" for kind in asked)
        raise SelectionError(f"a benchmark has one kind: choose one of {flags}")
    name = options.name.removesuffix(".yaml").removesuffix(".py")
    why = "`_` begins the name of a template" if name[:1] == "_" else why_no_name(name)
    if why:
        raise ConfigError(f"`{name}` cannot name a benchmark: {why}")
    if name == "include":
        raise ConfigError("`include` names other files: choose another name")
    folders = [path for path in sys.path if Path(path) != Path.cwd()]
    known = sys.stdlib_module_names | {"torch", "voir", "voirfile"}
    if name in known or PathFinder.find_spec(name, folders):
        raise ConfigError(f"{name}.py would hide the module `{name}`: choose another name")
    files = {}
    for template in _FILES[asked[0] if asked else "per_gpu"]:
        path = Path(template if template == "voirfile.py" else f"{name}{Path(template).suffix}")
        text = (shipped_root() / "benchmarks" / "new" / template).read_text("utf-8")
        files[path] = re.sub(rf"\b{_NAME}\b", name, text)
    for path in files:
        if path.exists() or path.is_symlink():
            raise ConfigError(f"{path} is there already: choose another name, or move it away")
    for path, text in files.items():
        path.write_text(text, "utf-8")
    print(f"wrote {', '.join(map(str, files))}; next:")
    print(f"  milabench list {name}.yaml    what would run, and mistakes")
    print(f"  milabench run {name}.yaml     measure, and report")
    return 0
