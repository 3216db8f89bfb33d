"""``run --runner ssh``: through an ``ssh`` that runs things here, and through a real sshd."""

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.two_node_sweep import Sweep, cut_off
from tests.support.wait import wait_for
from tests.support.workplace import Workplace, row

# What ssh and sshd do together: the words after the host are one line for a shell over there.
SSH = """\
#!/bin/sh
while true; do
  case $1 in
    -T) shift ;;
    -o | -p | -i) shift 2 ;;
    --) shift; break ;;
    *) echo "what is $1?" >&2; exit 255 ;;
  esac
done
echo "$1" >> {folder}/hosts
if [ "$1" = "$(cat {folder}/refuses)" ]; then
  echo "ssh: connect to host $1 port 22: Connection refused" >&2
  exit 255
fi
shift
exec setsid -w sh -c "$*"
"""
SYSTEM = """
system:
  arch: cpu
  nodes:
  - {name: two, ip: 127.0.0.3, user: me}
  - {name: one, ip: 127.0.0.2, main: true}
"""
OVER_SSH = ("--system", "system.yaml", "--runner", "ssh", "--gpus", "1", "--name", "mine")


@pytest.fixture
def sweep(at: Workplace, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sweep]:
    at.write("bin/ssh", SSH.replace("{folder}", str(at.folder))).chmod(0o755)
    at.write("refuses", "nobody")
    at.write("system.yaml", SYSTEM)
    monkeypatch.setenv("PATH", f"{at.folder / 'bin'}:{os.environ['PATH']}")
    it = Sweep(at)
    yield it
    for pid in it.programs():
        os.kill(pid, signal.SIGKILL)


def test_a_sweep_over_ssh(sweep: Sweep) -> None:
    done = sweep.at.milabench("run", "sweep.yaml", *OVER_SSH, "--select", "a-*")
    assert done.code == 0, done.err
    assert sorted((sweep.at.folder / "hosts").read_text().split()) == ["127.0.0.2", "me@127.0.0.3"]
    assert sweep.started() == {"a-1": 1, "a-2": 2}
    assert sweep.state("a-2").nodes == ("one", "two")  # by the names that the file has
    assert row(done.out, "a-2")[1:3] == ["0", "2"]
    assert (sweep.at.run() / "a-2.D0.two.data").exists()
    assert sweep.programs() == []


@pytest.mark.slow
def test_a_host_that_refuses(sweep: Sweep) -> None:
    """The run says which, and why; what fits the others runs, and the rest is lost."""
    sweep.at.write("refuses", "me@127.0.0.3")
    done = sweep.at.milabench("run", "sweep.yaml", *OVER_SSH)
    assert done.code == 1
    why = "ssh: connect to host me@127.0.0.3 port 22: Connection refused"
    said = f"two did not start: its agent ended with exit status 255: {why}"
    assert f"{said} (see {sweep.at.run()}/nodes/two.log)" in done.err
    assert said in done.out  # a finding of the report
    assert sweep.statuses() == {"a-1": "ok", "a-2": "lost", "b-1": "ok", "b-2": "lost"}
    lost = f"too few nodes: 1 of 2 can be used: {said} (see "
    assert sweep.state("a-2").reason.startswith(lost)
    sweep.at.write("refuses", "nobody")
    sweep.started()
    again = sweep.at.milabench("run", "--resume", str(sweep.at.run()))
    assert (again.code, sweep.started()) == (0, {"a-2": 2, "b-2": 2}), again.err


def test_no_remote_process_outlives_a_command_that_is_killed(sweep: Sweep) -> None:
    cut_off(sweep, lambda command: command.kill(), OVER_SSH, ("b-2.D0.one", "b-2.D0.two"))
    wait_for(lambda: not sweep.programs())
    assert sweep.statuses()["b-2"] == "lost"


@pytest.mark.slow
def test_what_was_cut_off_is_resumed_at_once(sweep: Sweep) -> None:
    """The head was killed while its hosts ran, and the run is resumed before they notice."""
    cut_off(sweep, lambda command: command.kill(), OVER_SSH, ("b-2.D0.one", "b-2.D0.two"))
    sweep.hold()
    before = sweep.started()
    again = sweep.at.milabench("run", "--resume", str(sweep.at.run()))
    assert again.code == 0, again.err
    assert before == {"a-2": 2, "b-2": 2}
    assert sweep.started() == {"b-2": 2, "a-1": 1, "b-1": 1}
    assert sweep.statuses() == dict.fromkeys(("a-2", "b-2", "a-1", "b-1"), "ok")
    assert (sweep.at.run() / "b-2" / "attempts" / "1" / "b-2.D0.two.data").exists()
    assert sweep.programs() == []


SSHD = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:" + os.environ["PATH"])


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@pytest.fixture
def sshd(at: Workplace) -> Iterator[tuple[int, Path]]:
    """A real sshd for this user alone, on a free port: the port, and the key that it accepts."""
    if SSHD is None or shutil.which("ssh") is None or shutil.which("ssh-keygen") is None:
        pytest.skip("needs OpenSSH's sshd, ssh and ssh-keygen")
    folder, port = at.folder / "sshd", _free_port()
    folder.mkdir(mode=0o700)
    for name in ("host", "mine"):
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(words, check=True)
    (folder / "known").write_text(f"[127.0.0.2]:{port} {(folder / 'host.pub').read_text()}")
    config = at.write(
        "sshd/config",
        f"""\
        ListenAddress 127.0.0.2:{port}
        HostKey {folder}/host
        AuthorizedKeysFile {folder}/mine.pub
        PidFile {folder}/pid
        StrictModes no
        UsePAM no
        PermitRootLogin prohibit-password
        """,
    )
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # where sshd, as root, shuts itself in
    with subprocess.Popen([SSHD, "-D", "-e", "-f", str(config)], stderr=subprocess.PIPE) as server:
        wait_for(lambda: (folder / "pid").exists() or server.poll() is not None)
        if server.poll() is not None:
            assert server.stderr
            pytest.skip(f"sshd does not start: {server.stderr.read().decode().strip()}")
        yield port, folder
        server.terminate()


def test_a_real_sshd(
    at: Workplace, sshd: tuple[int, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    port, keys = sshd
    real = shutil.which("ssh")
    at.write("bin/ssh", f'#!/bin/sh\nexec {real} -o UserKnownHostsFile={keys}/known "$@"\n')
    (at.folder / "bin" / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{at.folder / 'bin'}:{os.environ['PATH']}")
    at.write(
        "system.yaml",
        f"""
        system:
          arch: cpu
          sshkey: {keys}/mine
          nodes:
          - {{name: one, ip: 127.0.0.1, main: true}}
          - {{name: two, ip: 127.0.0.2, sshport: {port}}}
        """,
    )
    sweep = Sweep(at)
    done = at.milabench("run", "sweep.yaml", *OVER_SSH, "--select", "a-2")
    log = at.run() / "nodes" / "two.log"
    assert done.code == 0, (done.err, log.read_text())
    assert sweep.started() == {"a-2": 2}
    sweep.hold("b-2")
    words = (*OVER_SSH[:-1], "other", "--select", "b-2")
    with at.start("run", "sweep.yaml", *words, start_new_session=True) as command:
        data = at.run("other") / "b-2.D0.two.data"
        wait_for(lambda: data.exists() and data.read_text().count('"rate"') == 20)
        command.kill()
        command.communicate()
    wait_for(lambda: not sweep.programs())  # also what sshd started
