"""The packages that the check needs: which are missing, and those that were carried as wheels."""

import importlib
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

# What it imports, by the name of the distribution. `export` needs polars, the check does not: its
# wheel of 54 MB is most of what may be carried.
PY_SPY = "py_spy"  # a program, not a module
OF_THE_MACHINE = {"torch": "torch", "torchvision": "torchvision", "transformers": "transformers"}
CARRIED = {
    "ahocorasick_rs": "ahocorasick_rs",
    "jinja2": "jinja2",
    "markupsafe": "markupsafe",
    "msgspec": "msgspec",
    "numpy": "numpy",
    "omegaconf": "omegaconf",
    "psutil": "psutil",
    PY_SPY: "py-spy",
    "pynvml": "nvidia-ml-py",
    "rich": "rich",
    "submitit": "submitit",
    "cloudpickle": "cloudpickle",
    "yaml": "pyyaml",
    # voir and what it needs
    "voir": "voir",
    "asttokens": "asttokens",
    "codefind": "codefind",
    "executing": "executing",
    "giving": "giving",
    "ovld": "ovld",
    "ptera": "ptera",
    "reactivex": "reactivex",
    "varname": "varname",
    # --float8, and the tests of what only a GPU shows
    "torchao": "torchao",
    "pytest": "pytest",
    "pytest_timeout": "pytest-timeout",
    "hypothesis": "hypothesis",
    "jsonschema_rs": "jsonschema-rs",
    "markdown_it": "markdown-it-py",
}
PLATFORMS = ("manylinux_2_28", "manylinux_2_24", "manylinux_2_17", "manylinux2014")


def provide(wheels: Path, site: Path) -> str:
    """What is missing, though wheels were installed into ``site``, which is on the path from now.

    It is a message for the user, empty if all is there.
    """
    sys.path.append(str(site))
    large = [name for module, name in OF_THE_MACHINE.items() if not find_spec(module)]
    if large:
        return (
            f"no {', '.join(large)} in {sys.executable}: take the Python of this machine that has "
            "them, PYTHON=/... bash perf/gpu_check.sh ..."
        )
    said = ""
    files = sorted(wheels.glob("*.whl"))
    if files and _missing(site):
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
        install = [*pip, "--no-compile", "--upgrade", "--target", str(site), *map(str, files)]
        done = subprocess.run(install, capture_output=True, text=True)
        said = f"{wheels}: {done.stderr.strip()}\n" if done.returncode else ""
        importlib.invalidate_caches()
    missing = _missing(site)
    return f"{said}missing: {', '.join(missing)}. {download(missing)}" if missing else ""


def download(names: list[str]) -> str:
    """The command that makes wheels of these for the Python that runs this, on any machine."""
    platforms = " ".join(f"--platform {name}_x86_64" for name in PLATFORMS)
    version = ".".join(map(str, sys.version_info[:2]))
    return (
        "Where pip has a network, in the root of the repository:\n"
        "    python3 -m pip download --no-deps --only-binary=:all: --implementation cp "
        f"--python-version {version} {platforms} -d wheels {' '.join(names)}\n"
        "Then carry wheels/ with it: they are installed into FOLDER/site, never into the system."
    )


def _missing(site: Path) -> list[str]:
    return [name for module, name in CARRIED.items() if not _has(module, site)]


def _has(module: str, site: Path) -> bool:
    if module == PY_SPY:
        return any(
            (folder / "py-spy").exists() for folder in (Path(sys.executable).parent, site / "bin")
        )
    return find_spec(module) is not None
