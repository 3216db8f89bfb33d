"""Real requests to a server on 127.0.0.1."""

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from milabench_ddp.events import Status
from milabench_ddp.report.server.served_runs import Runs
from milabench_ddp.report.server.server import Handler, Server
from tests.support.result_files import RECORDED, going_on, write_state
from tests.support.wait import PATIENCE

HOSTILE = '<script>alert("1")</script>'
Asked = tuple[int, dict[str, str], str]


class Client:
    def __init__(self, port: int) -> None:
        self.port = port

    def ask(self, path: str, method: str = "GET", host: str | None = "localhost") -> Asked:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.putrequest(method, path, skip_host=True)
        if host is not None:
            connection.putheader("Host", host)
        connection.endheaders()
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, dict(answer.getheaders()), text

    def raw(self, request: bytes) -> str:
        """The first line of the answer."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as connection:
            connection.sendall(request)
            return connection.makefile().readline()


@pytest.fixture
def made() -> list[Path]:
    return []


@pytest.fixture
def client(tmp_path: Path, made: list[Path]) -> Iterator[Client]:
    """A server of the runs in a folder; ``made`` are those whose reports were made."""
    write_state(tmp_path / "first", "ok", {"a": "ok"})
    write_state(tmp_path / "second", "failed", {"a": "failed"}, {"a": "it broke"}, name=HOSTILE)
    (tmp_path / "secret").write_text("secret")

    def make(path: Path) -> str:
        made.append(path)
        return f"<h1>report {len(made)} of {path.name}</h1>"

    with Server(Runs([str(tmp_path)], make, clock=lambda: 1060.0), 0) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield Client(server.server_port)
        server.shutdown()
        thread.join()


def test_it_listens_on_the_loopback_device_alone() -> None:
    with Server(Runs([str(RECORDED)], str), 0) as server:
        assert server.socket.getsockname()[0] == "127.0.0.1"
        assert server.url == f"http://127.0.0.1:{server.server_port}/"


def test_an_address_may_lack_its_last_slash(client: Client) -> None:
    assert client.ask("/runs/first")[::2] == client.ask("/runs/first/")[::2]
    assert client.ask("/runs/first")[0] == 200
    assert client.ask("/runs/none")[0] == 404


def test_from_the_list_to_a_report(client: Client) -> None:
    status, headers, text = client.ask("/")
    assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert '<a href="/runs/first/">first</a></td><td>ok; 1 of 1 benchmarks (1 ok)</td>' in text
    status, _, text = client.ask("/runs/first/")
    assert status == 200
    assert '<iframe src="/runs/first/report" title="the report of first"></iframe>' in text
    assert client.ask("/runs/first/report")[::2] == (200, "<h1>report 1 of first</h1>")


def test_names_from_files_stay_text(client: Client) -> None:
    for path in ("/", "/runs/second/"):
        text = client.ask(path)[2]
        assert "&lt;script&gt;" in text
        assert HOSTILE not in text


@pytest.mark.parametrize("path", ["/", "/runs/first/", "/runs/first/report", "/nothing"])
def test_a_page_may_load_nothing_from_elsewhere(client: Client, path: str) -> None:
    headers = client.ask(path)[1]
    assert "frame-ancestors 'self'" in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    "host",
    [
        "evil.example", "evil.example:8377", "127.0.0.1.evil.example", "localhost.evil.example",
        "0.0.0.0", "", "localhost@evil.example", "[::1", None,
    ],
)  # fmt: skip
def test_another_host_is_refused(client: Client, made: list[Path], host: str | None) -> None:
    for path in ("/", "/runs/first/report", "/runs/first/progress.json"):
        status, _, text = client.ask(path, host=host)
        assert status == 403
        assert "first" not in text
    assert made == []


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "LOCALHOST:9000", "[::1]:8377"])
def test_this_machine_by_any_port_is_answered(client: Client, host: str) -> None:
    assert client.ask("/", host=host)[0] == 200


def test_two_hosts_are_refused(client: Client) -> None:
    request = b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n"
    assert " 403 " in client.raw(request)


@pytest.mark.parametrize(
    "path",
    [
        "/secret", "/runs/../secret", "/runs/first/../../secret", "/runs/%2e%2e/secret",
        "/runs/first%2f..%2f..%2fsecret", "/runs/first/%2e%2e/%2e%2e/secret", "//etc/passwd",
        "/runs/first/run.json", "/runs//", "/runs/third/", "/runs/first/report/x",
        "http://evil.example/", "/runs/first\x00/report", "/runs/..\\secret/report",
    ],
)  # fmt: skip
def test_no_path_leads_out_of_the_runs(client: Client, path: str) -> None:
    line = client.raw(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    assert " 404 " in line


@pytest.mark.parametrize("method", ["HEAD", "POST", "PUT", "DELETE", "OPTIONS"])
def test_other_methods_are_refused(client: Client, made: list[Path], method: str) -> None:
    assert client.ask("/runs/first/report", method)[0] == 501
    assert made == []


def test_nonsense_is_refused_and_the_next_is_answered(client: Client) -> None:
    assert "200" not in client.raw(b"\xff\xfe nonsense nonsense nonsense\r\n\r\n")
    assert client.ask("/")[0] == 200


def test_a_run_that_goes_on_is_followed(client: Client, tmp_path: Path) -> None:
    folder, planned = tmp_path / "live", {"a": "running", "b": "waiting"}
    write_state(folder, None, planned)
    with going_on(folder, "a"):
        now = progress(client)
        assert now["sentence"] == ("goes on, for 60 s; 0 of 2 benchmarks; a runs; 1 waiting")
        assert (now["outcome"], now["waiting"], now["ended"]) == (None, 1, {})
        assert [each["name"] for each in now["running"]] == ["a"]
        again = progress(client)
        assert again == now
    write_state(folder, None, {"a": "failed", "b": "running"}, {"a": "it broke"})
    with going_on(folder, "b"):
        later = progress(client)
        assert later["stamp"] != now["stamp"]
        assert later["failed"] == [["a", "failed: it broke"]]
        assert later["sentence"].startswith("goes on, for 60 s; 1 of 2 benchmarks (1 failed); b ")
    write_state(folder, "failed", {"a": "failed", "b": "ok"})
    last = progress(client)
    assert (last["outcome"], last["ended"]) == ("failed", {"ok": 1, "failed": 1})


def progress(client: Client) -> dict[str, object]:
    status, headers, text = client.ask("/runs/live/progress.json")
    assert (status, headers["Content-Type"]) == (200, "application/json")
    found: dict[str, object] = json.loads(text)
    return found


def test_a_report_is_made_again_only_if_a_file_has_changed(
    client: Client, made: list[Path], tmp_path: Path
) -> None:
    for _ in range(2):
        assert client.ask("/runs/first/report")[2] == "<h1>report 1 of first</h1>"
    (tmp_path / "first" / "a.D0.data").write_text("new")
    assert client.ask("/runs/first/report")[2] == "<h1>report 2 of first</h1>"
    write_state(tmp_path / "first", "ok", {"a": str(Status.FAILED)})
    assert client.ask("/runs/first/report")[2] == "<h1>report 3 of first</h1>"


def test_a_run_that_comes_later_is_shown(client: Client, tmp_path: Path) -> None:
    assert "third" not in client.ask("/")[2]
    write_state(tmp_path / "third", "ok", {"a": "ok"})
    assert "third" in client.ask("/")[2]
    assert client.ask("/runs/third/report")[0] == 200


def test_a_client_that_sends_nothing_is_hung_up_on(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Handler, "timeout", 0.2)
    with socket.create_connection(("127.0.0.1", client.port), timeout=PATIENCE) as slow:
        slow.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ")
        assert slow.recv(100) == b""
    assert client.ask("/")[0] == 200


def test_what_cannot_be_seen_is_shown_by_its_number(client: Client, tmp_path: Path) -> None:
    unseen = "x\u202ey\x1b[31m"
    write_state(tmp_path / "third", "failed", {"a": "failed"}, {"a": unseen}, name=unseen)
    for path in ("/", "/runs/third/", "/runs/third/progress.json"):
        text = client.ask(path)[2]
        assert not set(text) & {"\u202e", "\x1b"}
    assert "x\\u202ey\\u001b[31m" in client.ask("/")[2]
