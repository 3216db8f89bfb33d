"""Provenance: the machine and software of a measurement, collected once, without secrets."""

import platform
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from .. import __version__
from ..codec import plain
from ..hidden import SECRETS
from .accelerators import Accelerators
from .backends import BACKENDS
from .devices import Node
from .host import host
from .software import asked_checkout, torch_build, versions

# The variables that can change a measurement.
PREFIXES = (
    "CUBLAS_",
    "CUDA_",
    "CUDNN_",
    "FI_",  # libfabric, as of AWS's EFA
    "GLOO_",
    "GOMP_",
    "HABANA_",
    "HIP_",
    "HSA_",
    "KMP_",
    "MASTER_",
    "MILABENCH_",
    "MKL_",
    "NCCL_",
    "NVIDIA_",
    "OMP_",
    "PYTORCH_",
    "RCCL_",
    "ROCR_",
    "SLURM_",
    "TORCH",  # TORCH_..., TORCHINDUCTOR_..., TORCHELASTIC_...
    "UCX_",
    "XLA_",
    "ZE_",
)
NAMES = ("LD_LIBRARY_PATH", "LD_PRELOAD", "MALLOC_CONF", "PYTHONPATH", "VIRTUAL_ENV")


def collect(
    arch: str,
    node: Node,
    argv: Sequence[str],
    environ: Mapping[str, str],
) -> dict[str, Any]:
    """Host, devices, versions, commit, command line and environment, JSON-able.

    Args:
        arch: the name of the devices' back-end.
        node: this host, with the devices that are used; without any, no driver is asked.
        argv: this program's command line; values that look like secrets are hidden.
        environ: this program's environment; only variables that can change a measurement are kept.
    """
    # A login node is asked for no devices: its driver is not that of the nodes.
    accelerators = Accelerators(arch)
    if node.devices:
        accelerators = BACKENDS[arch].accelerators(node.devices)
    accelerators = replace(accelerators, notes=node.notes or None)
    with asked_checkout(Path(__file__), environ) as checkout:
        packages, build = versions(sys.path), torch_build(sys.path)
        source = checkout()
    commit = {"tag": None, "commit": None, "date": None} if source is None else plain(source)
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "milabench": {"version": __version__, **commit},
        "command": SECRETS.hide_words(argv),
        "environment": of_interest(environ),
        "host": host(),
        "accelerators": _known(plain(accelerators)),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "packages": packages,
        "pytorch": build,
    }


def meta(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """The data of the ``meta`` event of result files: milabench's fields, in its form."""
    cpu = provenance["host"]["cpu"]
    return {
        "cpu": {"count": cpu["count"], "brand": cpu["brand"]},
        "os": provenance["host"]["os"],
        "accelerators": provenance["accelerators"],
        "date": provenance["date"],
        "milabench": {name: provenance["milabench"][name] for name in ("tag", "commit", "date")},
        "pytorch": provenance["pytorch"],
    }


def _known(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts that are not None, also in nested mappings."""
    known = {}
    for name, value in facts.items():
        if value is not None:
            known[name] = _known(value) if isinstance(value, dict) else value
    return known


def of_interest(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of ``environ`` that can change a measurement, sorted, with secrets hidden."""
    kept = {}
    for name, value in sorted(environ.items()):
        if name in NAMES or name.startswith(PREFIXES):
            kept[name] = value
    found: dict[str, str] = SECRETS.hide_all(kept)
    return found
