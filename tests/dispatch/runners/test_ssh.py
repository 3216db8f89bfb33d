"""The remote commands: a real shell returns any words unchanged."""

import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from milabench_ddp.codec import decode
from milabench_ddp.config.runner_profile import RunnerProfile, with_settings
from milabench_ddp.config.system import SystemNode
from milabench_ddp.dispatch.agent_main import AgentOptions
from milabench_ddp.dispatch.node_request import NodeRequest
from milabench_ddp.dispatch.run_context import RunContext
from milabench_ddp.dispatch.runners.agents import AgentCommand, agent_command
from milabench_ddp.dispatch.runners.ssh import SshRunner
from milabench_ddp.errors import DispatchError
from milabench_ddp.results.run_dir import RunDir
from tests.support.dispatch import plan
from tests.support.run_headers import header

ONE = SystemNode("one", "10.0.0.1", user="me", main=True)
TWO = SystemNode("two", "10.0.0.2", sshport=2222)
RUN = RunDir(Path("/shared/runs/mine"))
PROFILE = RunnerProfile("ssh")


def commands(
    *hosts: SystemNode, profile: RunnerProfile = PROFILE, run: RunDir = RUN, **more: Any
) -> Mapping[str, AgentCommand]:
    made = plan(runner=profile, hosts=hosts, nodes=len(hosts), **more)
    return SshRunner().commands(RunContext(run, header(), made, ()))


def script(name: str, folder: str = "/shared/runs/mine", **settings: object) -> str:
    profile = with_settings(PROFILE, settings)
    return commands(ONE, TWO, profile=profile, run=RunDir(Path(folder)))[name].script


def test_the_main_node_is_first_and_each_has_its_rank() -> None:
    found = commands(TWO, ONE)
    assert list(found) == ["one", "two"]
    for rank, host in enumerate((ONE, TWO)):
        words = agent_command(AgentOptions(RUN.path, rank, host.address, host.name), PROFILE)
        assert found[host.name].script == f"exec {shlex.join(words)}"  # without a setup


def test_ssh_asks_nothing_and_notices_a_host_that_is_gone() -> None:
    words = commands(ONE, TWO, sshkey=Path("/keys/id"))["two"].shell
    assert words[0] == "ssh"
    assert words[-2:] == ("--", "10.0.0.2")
    options = words[1:-2]
    assert {"BatchMode=yes", "ServerAliveInterval=5", "ConnectTimeout=15"} <= set(options)
    assert options[options.index("-p") + 1] == "2222"
    assert options[options.index("-i") + 1] == "/keys/id"
    assert commands(ONE)["one"].shell[-1] == "me@10.0.0.1"


@pytest.mark.parametrize("ip", ["localhost", "127.0.0.1", "::1"])
def test_this_host_needs_no_ssh(ip: str) -> None:
    command = commands(SystemNode("here", ip))["here"]
    assert command.shell == ("sh", "-c")


def test_setup_comes_first_and_a_failure_of_it_is_the_end() -> None:
    text = script("one", setup=("false", "echo never"), environment={"A": "1"})
    done = subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")


def test_setup_may_change_the_shell_print_and_read() -> None:
    """It may have a comment or several lines, and has no part in the connection of the agent."""
    lines = ("echo hello; cat # a comment", "b() {\n  export B=$A$1\n}", "A=1", "b 2")
    text = script("one", setup=lines)
    text = text[: text.index("exec ")] + "cat; echo $B"
    done = subprocess.run(
        ["sh", "-c", text], input="a message\n", capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("a message\n12\n", "hello\n")


def test_a_setup_command_that_fails_is_named() -> None:
    text = script("one", setup=("true", "module_load 'cuda 13'"))
    done = subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=False)
    assert done.returncode == 127
    assert done.stderr.splitlines()[-1] == "the setup command failed: module_load 'cuda 13'"


def test_a_run_needs_the_hosts_and_a_script_does_not() -> None:
    request = NodeRequest(1, 1, "cpu")
    with pytest.raises(DispatchError, match="--runner ssh needs the hosts"):
        SshRunner().check(request)
    assert SshRunner().cluster(request).is_synthetic


def test_no_more_nodes_than_hosts() -> None:
    request = NodeRequest(3, 1, "cpu", (ONE, TWO))
    with pytest.raises(DispatchError, match=r"^3 nodes are needed, and the system file has 2"):
        SshRunner().cluster(request)
    cluster = SshRunner().cluster(replace(request, nodes=2))
    assert (len(cluster.nodes), cluster.is_synthetic) == (2, True)


words = st.text(
    st.characters(blacklist_categories=("Cs",), blacklist_characters="\0/"), min_size=1, max_size=12
).filter(lambda text: text not in (".", ".."))


@settings(max_examples=25)
@given(words, words)
def test_words_survive_the_remote_shell(folder: str, value: str) -> None:
    """Blanks, quotes, dollars, line ends, other alphabets: no word is split or executed."""
    text = script("two", f"/runs/{folder}", environment={"VALUE": value})
    show = 'import os, sys; os.write(1, "\\0".join([os.environ["VALUE"], *sys.argv[1:]]).encode())'
    agent = f"exec {sys.executable} -m milabench_ddp.dispatch.agent_main "
    assert text.count(agent) == 1
    text = text.replace(agent, f"exec {sys.executable} -I -S -X utf8 -c '{show}' ")
    done = subprocess.run(["sh", "-c", text], capture_output=True, check=True)
    found, options = done.stdout.decode().split("\0")
    assert found == value
    expected = AgentOptions(Path(f"/runs/{folder}"), 1, "10.0.0.2", "two")
    assert decode(options, AgentOptions) == expected
