"""Secrets of a configuration and of the caller: programs get them, and nothing shows them."""

import json
import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from milabench_ddp.cli import main
from tests.support.wait import PATIENCE
from tests.support.workplace import EMIT, Done, Workplace, row

PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA0planted\n-----END RSA PRIVATE KEY-----\n"
GIVEN = {  # what the caller has
    "HF_TOKEN": "hf_" + "aB3" * 11,
    "PLAIN": "ghp_" + "0aB" * 12,  # a form under a name that says nothing
    "SITE_LICENSE": "27000-planted-license",
}
PLANTED = {  # what the program must get, by its variables
    **GIVEN,
    "DB_PASSWORD": "hunter2-planted",
    "AWS": "AKIA0123456789PLANTD",
    "KEY_FILE_TEXT": PEM,
    "MIRROR": "https://me:s3same-planted@mirror.example/simple",
    "OF_PROFILE_TOKEN": "profile-planted",
}
ARGV = ["--token", "argv-planted", "--key=key-planted", "--other", GIVEN["HF_TOKEN"], "--n", "7"]
SECRETS = [
    *GIVEN.values(), "hunter2-planted", "AKIA0123456789PLANTD", "MIIEpAIBAAKCAQEA0planted",
    "s3same-planted", "profile-planted", "argv-planted", "key-planted", "override-given",
]  # fmt: skip
PROGRAM = (
    EMIT
    + """
import hashlib
def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()
here = os.path.dirname(os.path.abspath(__file__))
lines = []
for pid in filter(str.isdecimal, os.listdir("/proc")):
    try:
        words = open(f"/proc/{pid}/cmdline").read()
    except OSError:
        continue
    if "p.py" not in words:
        lines.append(words)
seen = {"env": {k: digest(v) for k, v in os.environ.items()},
        "argv": [digest(word) for word in sys.argv[1:]],
        "others": [pid for pid in lines if "-planted" in pid or "AKIA0123" in pid],
        "names": sorted(k for k in os.environ if k.startswith("MILABENCH_SECRET"))}
json.dump(seen, open(f"{here}/seen.json", "w"))
print(os.environ, sys.argv)
print(json.dumps(dict(os.environ)), *os.environ.values(), sep="\\n", file=sys.stderr)
emit(task="train", note="with " + os.environ["HF_TOKEN"])
for _ in range(5):
    rate(1.0)
raise ValueError(f"{os.environ['HF_TOKEN']} is refused: password={os.environ['DB_PASSWORD']}")
"""
)
CONFIG = f"""
b:
  program: p.py
  plan: {{method: per_gpu}}
  max_duration: 60
  secrets: [SITE_*]
  env:
    DB_PASSWORD: hunter2-planted
    AWS: AKIA0123456789PLANTD
    KEY_FILE_TEXT: {json.dumps(PEM)}
    MIRROR: https://me:s3same-planted@mirror.example/simple
    COPY: ${{oc.env:HF_TOKEN}}
  argv: {json.dumps(ARGV)}
"""
PROFILE = """
kind: local
environment: {OF_PROFILE_TOKEN: profile-planted}
setup: ['export FROM_SETUP_SECRET="hunter2-planted"']
"""
OVERRIDE = ("--override", "b.env.WANDB_API_KEY=override-given")
ON_PARTS = ("--runner", "profile.yaml", "--gpus", "1", "--device", "cpu", "--name", "mine")


@pytest.fixture
def place(at: Workplace, monkeypatch: pytest.MonkeyPatch) -> Workplace:
    for name, value in GIVEN.items():
        monkeypatch.setenv(name, value)
    at.write("p.py", PROGRAM)
    (at.folder / "c.yaml").write_text(CONFIG)
    (at.folder / "profile.yaml").write_text(PROFILE)
    return at


def shown(done: Done) -> None:
    assert not [secret for secret in SECRETS if secret in done.out + done.err]


def files(folder: Path) -> Iterator[Path]:
    yield from (path for path in folder.rglob("*") if path.is_file())


def assert_got_all(at: Workplace) -> None:
    seen = json.loads((at.folder / "seen.json").read_text())
    expected = {name: sha256(value.encode()).hexdigest() for name, value in PLANTED.items()}
    assert {name: seen["env"].get(name) for name in expected} == expected
    assert seen["argv"] == [sha256(word.encode()).hexdigest() for word in ARGV]
    assert (seen["others"], seen["names"]) == ([], [])
    (at.folder / "seen.json").unlink()


def test_a_run_hides_them_everywhere_and_can_be_resumed(
    place: Workplace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done = place.milabench("run", "c.yaml", *OVERRIDE, *ON_PARTS)
    shown(done)
    assert done.code == 1
    assert "(hidden: HF_TOKEN) is refused: password=(hidden: DB_PASSWORD)" in done.out, done.out
    assert_got_all(place)
    for path in files(place.run()):
        text = path.read_bytes().decode(errors="replace")
        assert not [secret for secret in SECRETS if secret in text], path
    outputs = [path for path in files(place.run()) if path.suffix in (".stdout", ".data", ".log")]
    assert {stat.S_IMODE(path.stat().st_mode) for path in outputs} == {0o600}
    for format in ("text", "markdown", "csv", "json", "html"):
        main(["report", str(place.run()), "--format", format])
    main(["export", str(place.run()), "--to", "csv", str(place.folder / "tables")])
    shown(Done(0, *capsys.readouterr()))
    for path in files(place.folder / "tables"):
        assert not [secret for secret in SECRETS if secret in path.read_text()], path

    monkeypatch.delenv("HF_TOKEN")
    shutil.rmtree(place.run() / "b")
    refused = place.milabench("run", "--resume", str(place.run()))
    assert refused.code == 2
    assert "secrets that are missing: HF_TOKEN, WANDB_API_KEY; set" in refused.err
    monkeypatch.setenv("HF_TOKEN", GIVEN["HF_TOKEN"])
    monkeypatch.setenv("WANDB_API_KEY", "override-given")
    again = place.milabench("run", "--resume", str(place.run()))
    shown(again)
    assert again.code == 1, again.err
    assert_got_all(place)


def test_what_dry_prints_runs_with_the_names_of_the_caller(
    place: Workplace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("c.yaml", *OVERRIDE, "--device", "cpu", "--gpus", "1")
    dry = place.milabench("dry", *words)
    shown(dry)
    monkeypatch.chdir(place.folder)
    main(["resolve", *words[:-4], "--explain"])
    main(["list", *words[:-4]])
    shown(Done(0, *capsys.readouterr()))
    assert 'COPY="$HF_TOKEN"' in dry.out
    assert '--other "$HF_TOKEN"' in dry.out
    env = place.environment()
    alone = subprocess.run(
        ["bash"], input=dry.out, env=env, capture_output=True, text=True, check=False
    )
    assert "is a secret that this script does not have: set it" in alone.stderr
    assert not (place.folder / "seen.json").exists()
    needed = {
        "DB_PASSWORD": "hunter2-planted", "AWS": PLANTED["AWS"],
        "KEY_FILE_TEXT_SECRET": PEM.strip(), "MIRROR_SECRET": "s3same-planted",
        "WANDB_API_KEY": "override-given", "TOKEN": "argv-planted", "KEY": "key-planted",
    }  # fmt: skip
    env |= {**needed, "OF_PROFILE_TOKEN": "profile-planted"}
    done = subprocess.run(
        ["bash"], input=dry.out, env=env | {"MILABENCH_METRICS": os.devnull},
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert "is refused" in done.stderr, done.stderr
    assert_got_all(place)


def test_what_is_hidden_leaves_the_script_as_it_is(at: Workplace) -> None:
    """A secret that is written like a part of the script itself."""
    canary = at.folder / "canary"
    at.write("p.py", EMIT + "import pathlib; pathlib.Path('ran').touch()")
    of_script = ["# not run: off: disabled:", "set -euo pipefail", "pids+=($!)", "start() {"]
    env = {f"A{number}_TOKEN": text for number, text in enumerate(of_script)}
    suite = {
        "b": {"program": "p.py", "plan": {"method": "per_gpu"}, "max_duration": 60, "env": env},
        "off": {"inherits": "b", "enabled": False, "because": f"; touch {canary}"},
    }
    at.write("c.yaml", json.dumps(suite))
    words = ("dry", "c.yaml", "--device", "cpu", "--gpus", "1")
    done = at.milabench(*words)
    assert f"\n# not run: off: disabled: ; touch {canary}" in done.out.replace(
        "(hidden: A0_TOKEN)", of_script[0].removeprefix("# ")
    )
    given = {**at.environment(), **env, "MILABENCH_METRICS": os.devnull}
    ran = subprocess.run(
        ["bash"], input=done.out, env=given, cwd=at.folder, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert (ran.returncode, canary.exists()) == (0, False), ran.stderr
    assert (at.folder / "ran").exists()


def test_numbers_that_look_like_a_secret_are_measured(at: Workplace) -> None:
    at.write("p.py", EMIT + "for _ in range(20): rate(100.5)")
    env = {"PASSWORD": "100.5", "A_TOKEN": '"units": "items/s"'}
    suite = {
        "b": {"program": "p.py", "plan": {"method": "per_gpu"}, "max_duration": 60, "env": env}
    }
    at.write("c.yaml", json.dumps(suite))
    done = at.milabench("run", "c.yaml", "--device", "cpu", "--gpus", "1", "--name", "mine")
    assert (done.code, row(done.out, "b")) == (0, ["b", "0", "1"]), done.out + done.err
