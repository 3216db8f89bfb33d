"""What runs on this machine."""

from pathlib import Path

from milabench_ddp.launch.reap import read_stat


def exists(pid: int) -> bool:
    """Whether a process is there, and no zombie."""
    stat = read_stat(pid)
    return stat is not None and not stat.is_gone


def alive(text: str) -> list[int]:
    """Processes with ``text`` in their command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if text.encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found
