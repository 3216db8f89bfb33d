"""The configuration files of a cluster, all in its ``etc``."""

import os
import secrets
import socket
import time
from pathlib import Path
from string import Template

from .settings import Settings

TEMPLATE = Path(__file__).parent / "slurm.conf.in"

SLURMDBD = """\
DbdHost={hostname}
DbdAddr={host}
DbdPort={port}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={dir}/run/munge.socket
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=slurm
PidFile={dir}/run/slurmdbd.pid
LogFile={dir}/log/slurmdbd.log
"""


def write(settings: Settings, nodes: int) -> None:
    """Write everything that Slurm, munge and the nodes read, for ``nodes`` nodes."""
    etc = settings.conf.parent
    hostname = socket.gethostname().partition(".")[0]
    numbers = range(1, nodes + 1)
    (etc / "nodes").write_text(f"{nodes}\n")
    secret(etc / "munge.key", secrets.token_bytes(128))
    secret(
        etc / "slurmdbd.conf",
        SLURMDBD.format(
            hostname=hostname,
            host=settings.host,
            port=settings.port + 1,
            dir=settings.directory,
        ).encode(),
    )
    (etc / "hosts").write_text(hosts(settings, nodes, hostname))
    # slurmd loads a cgroup plugin even where none is used, and that of v2 insists on systemd.
    (etc / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
    gres = ""
    if settings.gpus:
        # Slurm sets CUDA_VISIBLE_DEVICES only for device files that exist: these are /dev/null.
        devices = settings.directory / "dev"
        for gpu in range(settings.gpus):
            os.mknod(devices / f"gpu{gpu}", 0o20666, os.makedev(1, 3))
        line = f"Name=gpu File={devices}/gpu[0-{settings.gpus - 1}] AutoDetect=off\n"
        (etc / "gres.conf").write_text(line)
        gres = f" Gres=gpu:{settings.gpus}"
    conf = Template(TEMPLATE.read_text()).substitute(
        dir=settings.directory,
        hostname=hostname,
        host=settings.host,
        port=settings.port,
        dbd_port=settings.port + 1,
        nodes=nodes,
        first_job=int(time.time()) % 6_000_000 * 10 + 1,
    )
    has = f"CPUs={settings.cpus} RealMemory={settings.memory}{gres}"
    lines = [
        f"NodeName=node{k} NodeAddr={settings.address(k)} Port={settings.port + 100 + k} {has}\n"
        for k in numbers
    ]
    settings.conf.write_text(conf + "".join(lines))


def hosts(settings: Settings, nodes: int, hostname: str) -> str:
    """Each node's /etc/hosts: they must find one another, and the host, by name."""
    known = [("127.0.0.1", "localhost"), (settings.host, hostname)]
    known += [(settings.address(k), f"node{k}") for k in range(1, nodes + 1)]
    # An IPv6 socket sees IPv4 peers as ::ffff:A; torch's c10d looks their names up.
    lines = [f"{prefix}{address} {name}\n" for address, name in known for prefix in ("", "::ffff:")]
    return "".join(lines)


def secret(path: Path, content: bytes) -> None:
    """Write a file that only its owner may read; munge and slurmdbd insist."""
    path.touch(mode=0o600)
    path.write_bytes(content)
