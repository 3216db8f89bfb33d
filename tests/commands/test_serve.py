"""The command in a process of its own, asked over the network, and ended as from a keyboard."""

import re
import signal
import socket
import urllib.request

import pytest

from milabench_ddp.cli import main
from tests.support.result_files import RECORDED
from tests.support.wait import PATIENCE
from tests.support.workplace import Workplace


def test_it_says_where_shows_the_report_and_ends_at_ctrl_c(at: Workplace) -> None:
    run = RECORDED / "milabench" / "sedumoje"
    with at.start("serve", str(run), "--port", "0") as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        (url,) = re.findall(r"http://127\.0\.0\.1:\d+/", line)
        address = f"{url}runs/sedumoje/report"
        with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
            text = answer.read().decode()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, "")
    assert "<title>sedumoje" in text


def test_a_folder_without_runs_is_said(at: Workplace) -> None:
    with at.start("serve", ".", "--port", "0") as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(2)]
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
    assert lines[0] == "no run in . yet: runs that come are shown\n"
    assert lines[1].startswith("http://127.0.0.1:")


def test_a_port_that_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["serve", str(RECORDED / "first"), "--port", port]) == 2
    said = capsys.readouterr().err
    assert f"--port {port}: Address already in use; --port 0 takes one that is free" in said


def test_what_is_not_there_is_an_error_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "no/such*"]) == 2
    assert "no run folder matches no/such*" in capsys.readouterr().err
    assert main(["serve", "no/such"]) == 2
    assert "no run folder no/such" in capsys.readouterr().err


@pytest.mark.parametrize("port", ["65536", "-1", "http"])
def test_what_is_no_port(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["serve", str(RECORDED / "first"), "--port", port])
    assert "65,535" in capsys.readouterr().err
