"""Where a leader is: it writes its address into the run folder, and the nodes look there."""

import json
import os
import secrets
import socket
import time
from collections.abc import Callable
from pathlib import Path

from .channel import Channel
from .node import LeaderLostError
from .patience import Patience

CONNECT = 3.0  # seconds: a host without power does not answer, and the file may name another by now


def announce(where: Path, host: str) -> tuple[socket.socket, str]:
    """Listen on a free port, and write down the address and what one must know to be let in.

    Returns:
        the listening socket, and that secret.
    """
    token = secrets.token_hex(16)
    server = socket.create_server(("", 0))
    port = server.getsockname()[1]
    temporary = where.with_suffix(".tmp")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)  # nobody else reads it
    with os.fdopen(fd, "w") as out:
        json.dump({"host": host, "port": port, "token": token}, out)
    temporary.replace(where)
    return server, token


def connect(
    where: Path, patience: Patience, is_stopped: Callable[[], bool]
) -> tuple[Channel, str] | None:
    """A channel to the leader whose address stands in a file, and the secret.

    The file is read at each attempt, for each leader writes it anew. None: this was asked to end.

    Raises:
        LeaderLostError: nobody answered for as long as patience has it.
    """
    until = time.monotonic() + patience.reconnect
    while not is_stopped():
        try:
            list(where.parent.iterdir())  # so that a network file system looks again
            found = json.loads(where.read_text())
            address = found["host"], found["port"]
            connection = socket.create_connection(address, timeout=CONNECT)
        except (OSError, ValueError, KeyError) as error:
            if time.monotonic() > until:
                raise LeaderLostError(f"it cannot be reached: {error}") from error
            time.sleep(0.2)
        else:
            connection.settimeout(None)
            return Channel.of_socket(connection, patience.silence), found["token"]
    return None
