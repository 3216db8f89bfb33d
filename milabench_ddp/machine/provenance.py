"""Under what a number was measured: collected once, before anything is started."""

import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .. import __version__
from .accelerators import accelerators
from .checkout import checkout
from .devices import Node
from .environment import hide_secrets, of_interest
from .host import host
from .packages import torch_build, versions


def collect(
    arch: str,
    node: Node,
    argv: Sequence[str],
    environ: Mapping[str, str],
    path: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Host, devices, versions, commit, command line and environment, JSON-able.

    Args:
        arch: of the devices.
        node: this host, with the devices that are used.
        argv: this program's command line; values that look like secrets are hidden.
        environ: this program's environment; of it, what changes a measurement.
        path: the import path whose packages are described, this interpreter's if None.
    """
    packages = sys.path if path is None else path
    source = checkout(Path(__file__), environ)
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "milabench": {
            "version": __version__,
            **(asdict(source) if source else dict.fromkeys(("tag", "commit", "date"))),
        },
        "command": hide_secrets(argv),
        "environment": of_interest(environ),
        "host": host(),
        "accelerators": accelerators(arch, node.devices),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "packages": versions(packages),
        "pytorch": torch_build(packages),
    }


def meta(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """The data of the ``meta`` event of result files: the part that milabench has, in its form."""
    cpu = provenance["host"]["cpu"]
    return {
        "cpu": {"count": cpu["count"], "brand": cpu["brand"]},
        "os": provenance["host"]["os"],
        "accelerators": provenance["accelerators"],
        "date": provenance["date"],
        "milabench": {name: provenance["milabench"][name] for name in ("tag", "commit", "date")},
        "pytorch": provenance["pytorch"],
    }
