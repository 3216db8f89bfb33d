"""What runs on the host: munged, a database, slurmdbd and slurmctld."""

import shutil
from collections.abc import Callable
from pathlib import Path

from .errors import ClusterError
from .processes import Processes, succeeds, until
from .settings import Settings

DATABASE = Path(__file__).parent / "database.sh"
TABLES = ("mysql/mysql_system_tables.sql", "mariadb/mariadb_system_tables.sql")
PATIENCE = 60.0
"""Seconds until a service that has not answered is given up."""
NAMES = ("slurmctld", "slurmdbd", "mariadb", "munged")
"""In the order in which they are stopped."""


def start(settings: Settings, processes: Processes) -> None:
    """Start all services, each once those answer that it needs."""
    root = settings.directory
    processes.daemon(
        [
            "munged",
            f"--key-file={root}/etc/munge.key",
            f"--socket={root}/run/munge.socket",
            f"--pid-file={root}/run/munged.pid",
            f"--log-file={root}/log/munged.log",
            f"--seed-file={root}/state/munged.seed",
            "--num-threads=10",
        ],
        "munged.log",
    )
    command = ["unshare", "--mount", "bash", str(DATABASE), str(root), str(tables())]
    database = processes.start(command, "mariadb.log")
    processes.path("mariadb").write_text(str(database.pid))
    socket = root / "run" / "mariadb.socket"
    answers(settings, "the database", socket.is_socket)

    environ = settings.environ | {"MYSQL_UNIX_PORT": str(socket)}
    processes.daemon(["slurmdbd"], "slurmdbd.log", environ)
    cluster = ("sacctmgr", "--immediate", "--quiet", "add", "cluster", "milabench")
    answers(settings, "slurmdbd", lambda: succeeds(*cluster, environ=environ))
    processes.daemon(["slurmctld", "-f", str(settings.conf)], "slurmctld.log", environ)
    # A slurmd that does not find slurmctld is slow to try again.
    answers(settings, "slurmctld", lambda: succeeds("scontrol", "ping", environ=environ))


def stop(processes: Processes) -> None:
    """Stop those that run."""
    for name in NAMES:
        processes.stop(name)


def answers(settings: Settings, what: str, condition: Callable[[], bool]) -> None:
    """Wait for a service."""
    if not until(condition, PATIENCE):
        raise ClusterError(f"{what} does not answer: see {settings.directory}/log")


def tables() -> Path:
    """The SQL file of MariaDB's own tables, whose place depends on the version."""
    share = Path(shutil.which("mariadbd") or "/usr/sbin/mariadbd").resolve().parents[1] / "share"
    for name in TABLES:
        if (share / name).exists():
            return share / name
    raise ClusterError(f"MariaDB's {' or '.join(TABLES)} is not in {share}: run `install`")
