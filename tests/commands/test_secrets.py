"""Secrets of a configuration and of the caller: programs get them, and nothing shows them."""

import json
import os
import re
import shutil
import stat
import subprocess
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from milabench_ddp.cli import main
from milabench_ddp.commands.serve import page_of
from milabench_ddp.report.server.served_runs import Runs
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


FORTY_NAMES = (  # a half of the configuration, a half of the caller
    *("MY_CREDS", "API_TOKENS", "SSH_KEYS", "SESSION_COOKIE", "LOGIN_PASSCODE", "MAIL_OTP"),
    *("WIFI_PSK", "URL_SIGNATURE", "TOKEN_OF_ME", "DB_PASSWORD_OLD", "dbPassword", "hubToken"),
    *("AWS_SECRET_ACCESS_KEY", "AUTH_HEADER", "APIKEY", "GITHUB_PAT", "NPM_AUTH", "PGPASSWORD"),
    *("MYSQL_PWD", "STRIPE_SECRET_2", "CREDENTIALS_JSON", "COOKIES", "JWT_A", "BEARER"),
    *("PASSPHRASE_2", "SASL_PASS", "X_API_KEY_OLD", "GCP_CRED", "REDIS_PASS", "LICENSE_KEY"),
    *("encryptionKey", "TOKEN2", "tokenForHub", "SIGNATURES", "NCCL_CREDS", "SLURM_DB_TOKENS"),
    *("MILABENCH_PSK_1", "TORCH_HUB_PASSCODE", "CUDA_MIRROR_SIG", "HF_TOKEN_PROD"),
)
NOT_NAMED = ("NVIDIA_MFA", "SLURM_X", "MASTER_PIN", "TORCH_CODE")  # of which no value is recorded
OF_ARGV = (
    *("--token|%s", "--token=%s", "--env=HF_TOKEN=%s", "--env|A_TOKEN=%s", "-e|B_CREDS=%s"),
    *("-DCOOKIES=%s", "A_PSK=%s", "c.env.X_KEYS=%s", "--header=Authorization: Token %s"),
    *("--header|Authorization: Basic %s", "-H|X-Api-Key: %s", "-H|Cookie: %s", "--user|me:%s"),
    *("--user=me:%s", "-u|me:%s", "--proxy-user|me:%s", "https://%s@host/x", "s3://KEY:%s@bucket"),
    *("https://u:%s@h/x?token=1x", "https://h/x?sig=%s", "https://h/x?a=b&X-Amz-Signature=%s"),
    *("https://h/x?b=1&access_token=%s", "https://u:%s@h/x=1", "--opt=a=1,password=%s"),
    *("f(api_key='%s')", '{"token": "%s"}', "dsn=postgres://u:%s@h/db", "export C_AUTH='%s'"),
    *("--cookie=%s", "--set|auth.token=%s"),
)
PLANTED_FORM = re.compile(rb"plnt\d{2}")
TELLS = (
    PROGRAM[: PROGRAM.index("here = ")]
    + """
for name in ("NVIDIA_MFA", "SLURM_X", "MASTER_PIN", "TORCH_CODE"):
    os.environ.pop(name)
print(dict(os.environ), sys.argv, flush=True)
emit(task="train", note=os.environ["MY_CREDS"], api_key=sys.argv[2], header=sys.argv[-9])
emit(task="train", nested={"a": [sys.argv[3], os.environ["SLURM_DB_TOKENS"]]})
for _ in range(5):
    rate(1.0)
raise ValueError("x" * int(sys.argv[-1]) + str(sys.argv) + str(os.environ))
"""
)


def test_forty_places_and_forty_names(
    at: Workplace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No value that is planted is in a byte of a file, a page, or what a command prints."""
    values = (f"plnt{number:03}x-Q9" for number in range(101))
    of_caller, of_config = FORTY_NAMES[1::2], FORTY_NAMES[::2]
    for name, value in zip((*of_caller, *NOT_NAMED), values, strict=False):
        monkeypatch.setenv(name, value)
    argv = [word for form in OF_ARGV for word in form.replace("%s", next(values)).split("|")]
    both = {"plan": {"method": "per_gpu"}, "max_duration": 60, "program": "p.py"}
    suite = {
        "b": {**both, "argv": [*argv, "--tokens", "128", "--max-tokens=4096", "77"],
              "env": dict(zip(of_config, values, strict=False)),
              "url": f"https://{next(values)}@host/x", "client": {"db": {"pass": next(values)}},
              "server": [f"--password={next(values)}"]},
        "off": {**both, "enabled": False, "because": f"it needs HF_TOKEN={next(values)}"},
        "m": {"matrix": {"kind": [f"https://u:{next(values)}@h"]},
              "job": {**both, "name": "m", "argv": ["{kind}", *argv[:20], "55"]}},
    }  # fmt: skip
    profile = {
        "kind": "local", "environment": {"OF_PROFILE_CREDS": next(values)},
        "setup": [f"export D_COOKIE='{next(values)}'", f"true --user me:{next(values)}"],
    }  # fmt: skip
    at.write("p.py", TELLS)
    at.write("c.yaml", json.dumps(suite))
    at.write("profile.yaml", json.dumps(profile))
    (at.folder / "base").mkdir()
    words = ("c.yaml", "--gpus", "1", "--device", "cpu")
    said = [at.milabench("run", *words, "--runner", "profile.yaml", "--name", "mine")]
    said += [at.milabench("dry", *words), at.milabench("watch", str(at.run()))]
    assert [done.code for done in said] == [1, 0, 1], said[0].err
    slurm = {**profile, "kind": "slurm", "options": {"comment": f"API_KEY={next(values)}"}}
    at.write("slurm.yaml", json.dumps(slurm))
    said.append(at.milabench("dry", *words, "--runner", "slurm.yaml"))
    assert said[-1].code == 0, said[-1].err
    assert "--tokens 128 --max-tokens=4096 77" in said[1].out
    monkeypatch.chdir(at.folder)
    for format in ("text", "markdown", "csv", "json", "html"):
        main(["report", str(at.run()), "--format", format])
    main(["export", str(at.run()), "--to", "csv", str(at.folder / "base" / "tables")])
    main(["resolve", "c.yaml", "--explain"])
    main(["list", "c.yaml"])
    said.append(Done(0, *capsys.readouterr()))
    runs = Runs([str(at.folder / "base" / "runs")], page_of)
    pages = [runs.report(at.run()).encode(), runs.progress_json(at.run())]
    texts = {path: path.read_bytes() for path in files(at.folder / "base")}
    texts |= {Path(f"page {number}"): page for number, page in enumerate(pages)}
    texts |= {Path(f"said {n}"): f"{done.out}{done.err}".encode() for n, done in enumerate(said)}
    found = {path: PLANTED_FORM.findall(text) for path, text in texts.items()}
    assert {str(path): set(values) for path, values in found.items() if values} == {}
    assert any(b"SLURM_X" in text for text in texts.values())  # its name is
