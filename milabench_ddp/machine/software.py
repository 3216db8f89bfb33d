"""The software of a measurement: installed packages, torch's build, and this program's commit.

The packages are not imported: they may belong to another interpreter.
"""

import ast
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import Distribution, DistributionFinder, MetadataPathFinder
from pathlib import Path

PACKAGES = (
    "torch",
    "torchvision",
    "transformers",
    "triton",
    "numpy",
    "voir",
    "nvidia-ml-py",
)
GIT_TIMEOUT = 5.0  # seconds; on a slow network disk, the commit is not worth a longer wait

_ASK_GIT = """
git ls-files --error-unmatch "$1" >&2 &&
git log -1 --no-show-signature --format="%H %cI" &&
git describe --tags --always &&
git status --porcelain --untracked-files=no
"""


def versions(path: Sequence[str]) -> dict[str, str]:
    """The version of each package of interest that is installed on the import path ``path``."""
    found = {}
    for name in PACKAGES:
        version = _version(name, path)
        if version is not None:
            found[name] = version
    return found


def torch_build(path: Sequence[str]) -> dict[str, object]:
    """How the torch on the import path ``path`` was built; empty if torch is not there.

    ``torch`` (its version), ``cuda`` and ``hip`` (versions), ``debug`` and ``git_version`` come
    from ``torch/version.py``; ``nccl`` and ``cudnn`` are the versions of their packages. These two
    are left out if torch has its own copy, as builds from source do.
    """
    torch = _distribution("torch", path)
    if torch is None:
        return {}
    constants = _constants(torch)
    build: dict[str, object] = {"torch": constants.get("__version__") or torch.version}
    for name in ("cuda", "hip", "debug", "git_version"):
        if name in constants:
            build[name] = constants[name]
    cuda = build.get("cuda")
    if isinstance(cuda, str):
        major = cuda.split(".")[0]
        for name in ("nccl", "cudnn"):
            version = _version(f"nvidia-{name}-cu{major}", path)
            if version is not None:
                build[name] = version
    return build


def _constants(torch: Distribution) -> dict[str, object]:
    """The constants that ``torch/version.py`` assigns, read without executing it."""
    try:
        source = Path(str(torch.locate_file("torch/version.py"))).read_text()
    except OSError:
        return {}
    constants: dict[str, object] = {}
    for statement in ast.parse(source).body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=value)):
                constants[name] = value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Constant(value=value)):
                constants[name] = value
    return constants


def _version(name: str, path: Sequence[str]) -> str | None:
    distribution = _distribution(name, path)
    if distribution is None:
        return None
    # Its ``version`` parses all of the metadata as an e-mail, which takes milliseconds.
    head = distribution.read_text("METADATA") or ""
    told = re.search(r"^Version: *(\S+)", head.partition("\n\n")[0], re.MULTILINE)
    return told[1] if told else distribution.version


def _distribution(name: str, path: Sequence[str]) -> Distribution | None:
    context = DistributionFinder.Context(name=name, path=list(path))
    return next(iter(MetadataPathFinder.find_distributions(context)), None)


@contextmanager
def asked_checkout(
    file: Path, environ: Mapping[str, str]
) -> Iterator[Callable[[], dict[str, object] | None]]:
    """Ask git for the checkout that tracks ``file``; it answers while the caller does other work.

    Call the yielded function to wait for the answer: ``tag`` (the commit as ``git describe`` names
    it), ``commit``, its ``date`` (ISO 8601), and whether files have changed since (``dirty``); None
    without a checkout, or without git. A repository that does not track the file does not count:
    the virtual environment of an installed package often lies inside the checkout of another
    project.
    """
    # A hook's GIT_DIR would point to another repository, and `status` must not write to the index.
    env = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    env["GIT_OPTIONAL_LOCKS"] = "0"
    deadline = time.monotonic() + GIT_TIMEOUT
    git = subprocess.Popen(
        ["/bin/sh", "-c", _ASK_GIT, "sh", file.name],
        cwd=file.parent,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )

    def checkout() -> dict[str, object] | None:
        with suppress(subprocess.TimeoutExpired):
            answer, _ = git.communicate(timeout=deadline - time.monotonic())
            if git.returncode == 0:
                log, tag, *changes = answer.splitlines()
                commit, date = log.split()
                return {"tag": tag, "commit": commit, "date": date, "dirty": bool(changes)}
        return None

    with git:
        try:
            yield checkout
        finally:
            if git.poll() is None:
                os.killpg(git.pid, signal.SIGKILL)
