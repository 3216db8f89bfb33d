"""Serves the reports of runs to browsers on this machine, and changes nothing.

It listens on the loopback device alone. A page of another site can still make a browser ask it, by
a name that leads to 127.0.0.1 (DNS rebinding): so a request whose ``Host`` is another name is
refused. What a request names is looked up among the runs, and is never a path.
"""

import sys
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer
from typing import Any
from urllib.parse import unquote, urlsplit

from markupsafe import Markup

from ...errors import MilabenchError
from ...render.html import render
from ...visible import visible
from ..page.frame import hash_of
from .served_runs import Progress, Runs

ADDRESS = "127.0.0.1"
HOSTS = frozenset({"127.0.0.1", "localhost", "::1"})  # with any port: a tunnel may have another
HTML, TEXT = "text/html; charset=utf-8", "text/plain; charset=utf-8"
JSON = "application/json"
STYLE = Markup(Path(__file__).with_name("pages.css").read_text("utf-8"))
SCRIPT = Markup(Path(__file__).with_name("follow.js").read_text("utf-8"))
SLOWEST = 10.0  # seconds that a client may let a read of its request wait
Answer = tuple[HTTPStatus, str, bytes, str]  # with the type of the content, and its policy


# The report brings a policy of its own, which lets nothing load; here is who may frame it.
OF_REPORT = "frame-ancestors 'self'"
OF_PAGES = (
    f"default-src 'none'; script-src {hash_of(SCRIPT)}; style-src {hash_of(STYLE)}; "
    "connect-src 'self'; frame-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'"
)


class Server(ThreadingHTTPServer):
    """The server of runs, on the loopback device."""

    daemon_threads = True
    request_queue_size = 128  # browsers that wait to be heard
    block_on_close = False  # Ctrl-C does not wait for a browser

    def __init__(self, runs: Runs, port: int) -> None:
        """Listen on a port; 0 is one that is free."""
        self.runs = runs
        super().__init__((ADDRESS, port), Handler)

    def server_bind(self) -> None:
        """Bind to the port; unlike that of its base, without asking for the name of the host."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = ADDRESS, self.server_address[1]

    @property
    def url(self) -> str:
        return f"http://{ADDRESS}:{self.server_port}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Tell of an error, unless it is a browser that has gone."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """Answers a request."""

    server: Server
    server_version, sys_version = "milabench", ""
    timeout = SLOWEST

    def do_GET(self) -> None:
        status, kind, content, policy = self._answer()
        self.send_response(status)
        headers = {
            "Content-Type": kind,
            "Content-Length": str(len(content)),
            "Content-Security-Policy": policy,
            "Cross-Origin-Resource-Policy": "same-origin",
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-store",
        }
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def _answer(self) -> Answer:
        hosts = self.headers.get_all("Host") or []
        if len(hosts) != 1 or _name_of(hosts[0]) not in HOSTS:
            return _plain(HTTPStatus.FORBIDDEN, "open it by the address that milabench printed")
        try:
            return self._found(unquote(self.path.partition("?")[0]).split("/"))
        except MilabenchError as error:
            return _plain(HTTPStatus.INTERNAL_SERVER_ERROR, str(error))

    def _found(self, words: list[str]) -> Answer:
        runs = self.server.runs
        folders = runs.folders()
        match words:
            case ["", ""]:
                found = {key: runs.progress(path) for key, path in folders.items()}
                return HTTPStatus.OK, HTML, list_page(found).encode(), OF_PAGES
            case ["", "runs", key] | ["", "runs", key, ""] if key in folders:
                page = run_page(key, runs.progress(folders[key])).encode()
                return HTTPStatus.OK, HTML, page, OF_PAGES
            case ["", "runs", key, "progress.json"] if key in folders:
                return HTTPStatus.OK, JSON, runs.progress_json(folders[key]), OF_PAGES
            case ["", "runs", key, "report"] if key in folders:
                return HTTPStatus.OK, HTML, runs.report(folders[key]).encode(), OF_REPORT
        return _plain(HTTPStatus.NOT_FOUND, "there is no such page")

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing: what a browser asks for is of no interest in the terminal."""


def _name_of(host: str) -> str | None:
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None


def _plain(status: HTTPStatus, text: str) -> Answer:
    return status, TEXT, f"{visible(text)}\n".encode(errors="replace"), OF_PAGES


def list_page(runs: Mapping[str, Progress]) -> str:
    return str(render("runs.html", runs=runs, style=STYLE))


def run_page(key: str, run: Progress) -> str:
    return str(render("run.html", key=key, run=run, style=STYLE, script=SCRIPT))
