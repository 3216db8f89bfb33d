from pathlib import Path

import pytest
from msgspec.structs import replace

from milabench_ddp.config.sizing import BatchSizing, CpuSizing, Memory, Sizer, SizingOptions
from milabench_ddp.config.system import System, SystemGpu, SystemNode, read_system
from milabench_ddp.errors import ConfigError
from tests.support.configuration import facts, write


def test_everything(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    path = write("etc/system.yaml", """
        system:
          arch: cuda
          sshkey: ~/.ssh/id
          docker_image: image:${system.arch}
          nodes:
            - {name: manager, ip: 192.168.11.11, port: 5000, main: true, user: me, sshport: 2222}
            - {name: node1, ip: 192.168.11.12, main: false}
            - {name: node2}
          gpu: {capacity: 80 GiB, count: 8, capability: 9.0}
          options:
            sizer: {auto: 1, multiple: 4, power: 2, batch_size: 16, capacity: 4 GiB,
                    save: scaling.yaml}
            cpu: {auto: true, min: 1, max: 64, n_workers: 3, reserved_cores: 2}
        multirun: {runs: []}
    """)  # fmt: skip
    assert read_system(path) == System(
        arch="cuda",
        docker_image="image:${system.arch}",
        sshkey=Path("/home/me/.ssh/id"),
        nodes=(
            SystemNode("manager", "192.168.11.11", "me", main=True, sshport=2222, port=5000),
            SystemNode("node1", "192.168.11.12"),
            SystemNode("node2"),
        ),
        gpu=SystemGpu(9.0, Memory(81920.0), 8),
        options=SizingOptions(
            BatchSizing(True, 16, 4, 2, 4096.0, save=here / "etc" / "scaling.yaml"),
            CpuSizing(True, 1, 64, 3, 2),
        ),
        warnings=(
            "`multirun` in etc/system.yaml:15 has no effect: its `runs` are for milabench's own "
            "sizing",
        ),
    )


@pytest.mark.parametrize(
    "text",
    [
        "system: {}",
        "system: {arch: ~, gpu: ~, nodes: [], options: ~, sshkey: ~}",
        "system: {gpu: {capacity: ~, count: ~}, options: {sizer: ~, cpu: {auto: 0, max: ~}}}",
        "system: {gpu: {capacity: All}, options: {sizer: {capacity: All}}}",
    ],
)
def test_what_is_not_said_is_left_to_detection(here: Path, text: str) -> None:
    assert read_system(write("s.yaml", text)) == System()


def test_the_scaling_file_that_is_read_wins_over_the_one_that_is_written(here: Path) -> None:
    path = write("s.yaml", "system: {options: {sizer: {config: a.yaml, save: b.yaml}}}")
    sizing = read_system(path).options.sizer
    assert (sizing.config, sizing.save) == (here / "a.yaml", here / "b.yaml")
    write("a.yaml", "b: {observations: [{batch_size: 8, memory: 1}]}")
    assert Sizer(replace(sizing, auto=True), facts()).batch_size("b", "1") == "640000"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("arch: cuda", "unknown key `arch` in s.yaml:1"),
        ("{}", "s.yaml: has no `system:`"),
        ("sytem: {}", "unknown key `sytem` in s.yaml:1: did you mean `system`?"),
        ("system: 3", "wrong value for `system` in s.yaml:1: expected a mapping, got `3`"),
        ("system:\n  nods: []", "unknown key `nods` in s.yaml:2: did you mean `nodes`?"),
        (
            "system: {arch: cudaa}",
            "wrong value for `system.arch` in s.yaml:1: expected `cuda` or `rocm` or `hpu` or "
            "`xpu` or `cpu`, got the text `cudaa`: did you mean `cuda`?",
        ),
        (
            "system: {gpu: {count: 0}}",
            "wrong value for `system.gpu.count` in s.yaml:1: "
            "expected an integer >= 1, got `0`",
        ),
        (
            "system: {gpu: {capacity: much}}",
            "wrong value for `system.gpu.capacity` in s.yaml:1: "
            "expected an amount of memory such as `81920 MiB`, got the text `much`",
        ),
        ("system:\n  nodes:\n    - {ip: 1.2.3.4}", "`system.nodes[0]` in s.yaml:3 has no `name`"),
        (
            "system: {nodes: {}}",
            "wrong value for `system.nodes` in s.yaml:1: expected a list, got a mapping",
        ),
        ("system: {nodes: [{name: a}, {name: a}]}", "two nodes are named `a` (s.yaml:1)"),
        (
            "system: {nodes: [{name: a, main: true}, {name: b, main: true}]}",
            "several nodes are `main` (s.yaml:1): only one can be",
        ),
        (
            "system: {options: {sizer: {auto: often}}}",
            "wrong value for `system.options.sizer.auto` in s.yaml:1: "
            "expected true or false, got the text `often`",
        ),
        (
            "system: {options: {sizer: {power: 1}}}",
            "wrong value for `system.options.sizer.power` in s.yaml:1: "
            "expected an integer >= 2, got `1`",
        ),
    ],
)  # fmt: skip
def test_bad_system_files(here: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        read_system(write("s.yaml", text))
    assert str(error.value) == message


@pytest.mark.parametrize(
    "node",
    [
        "{name: ../../x}",
        "{name: -x}",
        "{name: a, ip: -oProxyCommand=x}",
        "{name: a, ip: 'b; touch x'}",
        "{name: a, user: '-x'}",
        "{name: a, user: 'me x'}",
    ],
)
def test_hosts_are_words_that_no_program_takes_for_an_option(here: Path, node: str) -> None:
    with pytest.raises(ConfigError, match=r"wrong value for `system\.nodes\[0\]"):
        read_system(write("s.yaml", f"system: {{nodes: [{node}]}}"))
