"""Archives of evidence: whole at any moment, and without secrets."""

import os
import random
import string
from pathlib import Path

import pytest

from milabench_ddp.errors import RunDirError
from milabench_ddp.hidden import SECRETS
from milabench_ddp.results.evidence_archive import add_evidence
from milabench_ddp.results.run_dir import RunDir
from tests.support.archives import archived


def test_files_are_added_and_replaced(tmp_path: Path) -> None:
    run = RunDir(tmp_path)
    add_evidence(run, "n1", {"b/kernel.log": "first\n", "about.txt": "early\n"})
    add_evidence(run, "n2", {"about.txt": "of another node\n"})
    add_evidence(run, "n1", {"about.txt": "late \udc80 é\n"})
    assert archived(tmp_path, "n1") == {"b/kernel.log": "first\n", "about.txt": "late \\udc80 é\n"}
    assert archived(tmp_path, "n2") == {"about.txt": "of another node\n"}
    assert sorted(path.name for path in (tmp_path / "evidence").iterdir()) == [
        "n1.tar.gz",
        "n2.tar.gz",
    ]


@pytest.mark.parametrize("left", [0, 1, 20, -1])
def test_a_damaged_archive_is_made_anew(tmp_path: Path, left: int) -> None:
    run = RunDir(tmp_path)
    add_evidence(run, "n1", {"about.txt": "x" * 5000})
    path = run.evidence("n1")
    path.write_bytes(path.read_bytes()[:left])
    add_evidence(run, "n1", {"ticket.md": "new"})
    assert archived(tmp_path, "n1")["ticket.md"] == "new"


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    run, other = RunDir(tmp_path / "run"), tmp_path / "other"
    (tmp_path / "run").mkdir()
    other.mkdir()
    run.evidence("n1").parent.symlink_to(other)
    with pytest.raises(RunDirError, match="it is a link, and is not followed"):
        add_evidence(run, "n1", {"about.txt": ""})
    assert list(other.iterdir()) == []


def test_an_archive_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    RunDir(tmp_path).evidence("n1").mkdir(parents=True)
    with pytest.raises(RunDirError, match=r"cannot write .*n1\.tar\.gz: "):
        add_evidence(RunDir(tmp_path), "n1", {"about.txt": ""})


def planted(rank: random.Random) -> list[tuple[str, str]]:
    """1,000 secrets, each with the text that it stands in."""

    def word(length: int, letters: str = string.ascii_letters + string.digits) -> str:
        return "".join(rank.choices(letters, k=length)) + "7x"

    found = []
    for k in range(250):
        own = word(20)
        os.environ[f"SERVICE_{k}_TOKEN"] = own  # this process was given it: it stands anywhere
        found.append((own, f"{k} said {own} again\n"))
        form = rank.choice(["hf_", "ghp_", "glpat-", "AKIA", "nvapi-"])
        letters = string.ascii_uppercase + string.digits if form == "AKIA" else string.ascii_letters
        own = form + "".join(rank.choices(letters, k=16 if form == "AKIA" else 30))
        found.append((own, f"NVRM: user {k} ran with {own}\n"))
        own = word(16)
        option = rank.choice(["--api-key ", "--password=", "HF_TOKEN=", 'password: "'])
        found.append((own, f'4711 1 S 00:01 - python main.py {option}{own}" --lr 0.1\n'))
        own = word(12)
        found.append((own, f"File main.py, line {k} in fetch https://bob:{own}@host/data\n"))
    return found


def test_of_a_thousand_planted_secrets_none_is_in_the_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "environ", dict(os.environ))
    secrets = planted(random.Random(7))
    SECRETS.learn_environ(os.environ)
    files = ("b/nvidia-smi.txt", "b/kernel.log", "b/own-processes.txt", "run/b.D0.stacks",
             "ticket.md", "report.txt", "run/b/command.sh", "run/b.D0.stderr")  # fmt: skip
    texts = {name: "".join(text for _, text in secrets[k::8]) for k, name in enumerate(files)}
    for name, text in texts.items():
        add_evidence(RunDir(tmp_path), "n1", {name: text})
    kept = "".join(archived(tmp_path, "n1").values())
    assert len({secret for secret, _ in secrets}) == 1000
    assert [secret for secret, _ in secrets if secret in kept] == []
    assert kept.count("(hidden") == 1000
    assert "--lr 0.1" in kept
    assert "NVRM: user 249 ran with" in kept
