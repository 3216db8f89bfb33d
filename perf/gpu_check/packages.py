"""The packages that the check needs: which are missing, and those that were carried as wheels."""

import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

IMPORTS = """
import importlib, sys
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except Exception as error:
        print(name, "" if isinstance(error, ImportError) and error.name == name else f" ({error})")
"""
# What it imports, by the name of the distribution. Lists of nodes need ClusterShell, `export` needs
# polars, the check neither: polars' wheel of 54 MB is most of what may be carried.
OF_THE_MACHINE = ("torch", "torchvision", "transformers")
OF_VOIR = (
    "voir", "asttokens", "codefind", "executing", "giving", "ovld", "ptera", "reactivex", "varname",
)  # fmt: skip
OF_TESTS = ("pytest", "pytest-timeout", "hypothesis", "jsonschema-rs")
OWN = (
    "ahocorasick_rs", "cloudpickle", "jinja2", "markupsafe", "msgspec", "numpy", "omegaconf",
    "psutil", "rich", "submitit",
)  # fmt: skip
CARRIED = {name.replace("-", "_"): name for name in (*OWN, *OF_VOIR, *OF_TESTS)} | {
    "pynvml": "nvidia-ml-py",
    "yaml": "pyyaml",
    "markdown_it": "markdown-it-py",
}
LARGE = "torchao"  # takes seconds to import: it is only looked for
PROGRAM = "py-spy"
CARRIED = {
    "ahocorasick_rs": "ahocorasick_rs",
    "jinja2": "jinja2",
    "markupsafe": "markupsafe",
    "msgspec": "msgspec",
    "numpy": "numpy",
    "omegaconf": "omegaconf",
    "psutil": "psutil",
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
    "pytest": "pytest",
    "pytest_timeout": "pytest-timeout",
    "hypothesis": "hypothesis",
    "jsonschema_rs": "jsonschema-rs",
    "markdown_it": "markdown-it-py",
}
PLATFORMS = ("manylinux_2_28", "manylinux_2_24", "manylinux_2_17", "manylinux2014")


def provide(wheels: Path, site: Path, environ: Mapping[str, str]) -> str:
    """What is missing, though wheels were installed into ``site``, which is on ``environ``'s path.

    It is a message for the user, empty if all is there.
    """
    sys.path.append(str(site))
    absent = [name for name in OF_THE_MACHINE if not find_spec(name)]
    if absent:
        return (
            f"no {', '.join(absent)} in {sys.executable}: take the Python of this machine that has "
            "them, PYTHON=/... bash perf/gpu_check.sh ..."
        )
    said, files = "", sorted(map(str, wheels.glob("*.whl")))
    missing = _missing(environ)
    if missing and files:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
        install = [*pip, "--no-compile", "--upgrade", "--target", str(site), *files]
        done = subprocess.run(install, capture_output=True, text=True)
        said = f"{wheels}: {done.stderr.strip()}\n" if done.returncode else ""
        importlib.invalidate_caches()
        missing = _missing(environ)
    if not missing:
        return ""
    named = ", ".join(f"{name}{why}" for name, why in missing.items())
    return f"{said}missing: {named}. {download(list(missing))}"


def download(names: list[str]) -> str:
    """The command that makes wheels of these for the Python that runs this, on any machine."""
    platforms = " ".join(f"--platform {name}_x86_64" for name in PLATFORMS)
    version = ".".join(map(str, sys.version_info[:2]))
    return (
        "Where pip has a network, in the root of the repository:\n"
        "    python3 -m pip download --no-deps --only-binary=:all: --implementation cp "
        f"--python-version {version} {platforms} -c constraints.txt -d wheels {' '.join(names)}\n"
        "Then carry wheels/ with it: they are installed into FOLDER/site, never into the system."
    )


def _missing(environ: Mapping[str, str]) -> dict[str, str]:
    """The distributions that cannot be imported; of those that are there, why."""
    command = [sys.executable, "-c", IMPORTS, *CARRIED]
    told = subprocess.run(command, env=environ, text=True, stdout=subprocess.PIPE).stdout
    lines = (line.partition(" ") for line in told.splitlines())
    found = {CARRIED[module]: why for module, _, why in lines}
    found |= {} if find_spec(LARGE) else {LARGE: ""}
    here = f"{Path(sys.executable).parent}{os.pathsep}{environ.get('PATH', '')}"
    return found if shutil.which(PROGRAM, path=here) else {**found, PROGRAM: ""}
