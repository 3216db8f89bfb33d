"""The secrets that a process knows are hidden, and revealed to programs."""

import json
import os
import shlex
import stat
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from milabench_ddp.errors import RunDirError
from milabench_ddp.hidden import GIVEN, Secrets

HF = "hf_" + "a1" * 17


@pytest.fixture
def secrets() -> Secrets:
    return Secrets()


def test_a_secret_goes_by_its_name_wherever_it_turns_up(secrets: Secrets) -> None:
    secrets.learn_environ({"HF_TOKEN": HF, "HOME": "/home/x", "PWD": "/home/x/y"})
    assert secrets.known == {"HF_TOKEN": HF}
    assert secrets.hide(f"in /home/x/y: {HF}!") == "in /home/x/y: (hidden: HF_TOKEN)!"
    learned = secrets.learn({"A": HF, "argv": ["--x", f"y={HF}"]})
    assert learned == {"A": "(hidden: HF_TOKEN)", "argv": ["--x", "y=(hidden: HF_TOKEN)"]}


def test_names_that_the_caller_has_for_another_secret_are_left_to_it(secrets: Secrets) -> None:
    secrets.learn_environ({"DB_PASSWORD": "hunter-one", "TOKEN": "1"})
    secrets.learn({"DB_PASSWORD": "hunter-two"})
    secrets.learn(["prog", "--token", "hunter-three"])
    assert list(secrets.known) == ["DB_PASSWORD", "DB_PASSWORD_2", "TOKEN_2"]


@pytest.mark.parametrize(
    ("words", "hidden"),
    [
        (["*.env.HF_TOKEN=hunter2"], ["*.env.HF_TOKEN=(hidden: HF_TOKEN)"]),
        (["--api-key=a b c"], ["--api-key=(hidden: API_KEY)"]),
        (["--token", "hunter2", "x"], ["--token", "(hidden: TOKEN)", "x"]),
        (["bench.argv.--max-tokens=128"], ["bench.argv.--max-tokens=128"]),
        (["--tokenizer=bert", "config/monkey.yaml"], ["--tokenizer=bert", "config/monkey.yaml"]),
        (["--url=https://u:hunter2@h"], ["--url=https://u:(hidden: SECRET)@h"]),
    ],
)
def test_command_lines(secrets: Secrets, words: list[str], hidden: list[str]) -> None:
    assert secrets.learn(["run", *words]) == ["run", *hidden]


def test_what_only_looks_like_a_secret_is_hidden_without_being_learned(secrets: Secrets) -> None:
    """A program cannot make its words vanish from what others say."""
    assert secrets.hide_all({"reason": "api_key=throughput"}) == {"reason": "api_key=(hidden)"}
    assert secrets.hide("throughput") == "throughput"


def test_a_secret_that_is_written_in_another_way(secrets: Secrets) -> None:
    value = "p\"a's s/w\\örd\n12"
    secrets.learn_environ({"PASSWORD": value})
    for text in (json.dumps(value), repr(value), json.dumps(value, ensure_ascii=False)):
        assert secrets.hide(f"x {text[1:-1]} y") == "x (hidden: PASSWORD) y"
    assert secrets.hide("p%22a%27s%20s%2Fw%5C%C3%B6rd%0A12") == "(hidden: PASSWORD)"


def test_the_lines_of_a_key_are_hidden_by_themselves(secrets: Secrets) -> None:
    lines = [
        "-----BEGIN RSA PRIVATE KEY-----",
        "MIIEpAIBAAKCAQEA0",
        "-----END RSA PRIVATE KEY-----",
    ]
    secrets.learn({"PEM": "\n".join(lines)})
    assert "MIIE" not in secrets.hide("> MIIEpAIBAAKCAQEA0")


def test_a_short_secret_is_hidden_in_its_place_alone(secrets: Secrets) -> None:
    shown = secrets.learn({"PASSWORD": "abc", "PIN_SECRET": 1234, "A": "abc 1234"})
    assert shown["PASSWORD"] == "(hidden: PASSWORD)"
    assert shown["PIN_SECRET"] == "(hidden: PIN_SECRET)"
    assert secrets.hide("abc 1234") == "abc 1234"


def test_names_of_benchmarks_stay(secrets: Secrets) -> None:
    secrets.learn_environ({"PASSWORD": "resnet50-x"})
    secrets.heed((), ["resnet50-x"])
    assert secrets.hide("resnet50-x") == "resnet50-x"


def test_further_names_of_a_configuration(secrets: Secrets) -> None:
    secrets.learn_environ({"LICENSE_SERVER": "27000@lic.example", "LICENSE": "x"})
    secrets.heed(["license_*"])
    assert secrets.hide("to 27000@lic.example") == "to (hidden: LICENSE_SERVER)"
    assert secrets.learn({"LICENSE_CODE": "abcdef"}) == {"LICENSE_CODE": "(hidden: LICENSE_CODE)"}


def test_those_who_run_a_plan_are_given_its_secrets_and_no_others(secrets: Secrets) -> None:
    secrets.learn_environ({"HF_TOKEN": HF, "OTHER_TOKEN": "hunter2-x"})
    plan = {"env": {"HF_TOKEN": HF, "B": 'q"uote'}, "argv": ["--password", 'a"b']}
    hidden = json.dumps(secrets.learn(plan))
    secrets.take_plan(hidden)
    assert json.loads(secrets.given) == {"HF_TOKEN": HF, "PASSWORD": 'a"b'}
    agent = Secrets()
    agent.learn_environ({GIVEN: secrets.given})
    assert json.loads(agent.reveal(hidden.encode())) == plan
    assert agent.hide(f"{HF} hunter2-x") == "(hidden: HF_TOKEN) hunter2-x"


def test_a_secret_that_is_missing_is_named(secrets: Secrets, monkeypatch) -> None:
    monkeypatch.delenv("HF_TOKEN", raising=False)
    hidden = b'{"a": "(hidden: HF_TOKEN)"}'
    with pytest.raises(RunDirError, match="hides secrets that are missing: HF_TOKEN; set"):
        secrets.reveal(hidden)
    monkeypatch.setenv("HF_TOKEN", "other")
    assert secrets.reveal(hidden) == b'{"a": "other"}'


def test_files_are_for_the_user_alone_while_a_run_has_secrets(
    secrets: Secrets, tmp_path: Path
) -> None:
    for number, plan in enumerate(('"x"', '"(hidden: PASSWORD)"')):
        secrets.learn({"PASSWORD": "hunter2"})
        secrets.take_plan(plan)
        os.close(os.open(tmp_path / str(number), os.O_CREAT | os.O_WRONLY, secrets.mode))
    modes = [stat.S_IMODE(path.stat().st_mode) for path in sorted(tmp_path.iterdir())]
    umask = os.umask(0)
    os.umask(umask)
    assert modes == [0o666 & ~umask, 0o600]


@given(st.text(min_size=9, max_size=30), st.text(max_size=10))
@example("(hidden: X)", "")
@example("\\1\\g<0>aaaaaaa", "")
@example("PASSWORD", "hidden: PASSWORD")
@example("hidden: PASSWORD", "")
def test_any_text_can_be_a_secret(secret: str, around: str) -> None:
    known = Secrets()
    known.learn_environ({})
    given = {"PASSWORD": secret, "note": f"{around}{secret}{around}"}
    hidden = known.learn(given)
    if hidden["PASSWORD"] == secret:  # it says that there is none, or has been hidden before
        assert secret.startswith(("(hidden", "<", "["))
        return
    known.take_plan(json.dumps(hidden))
    for once_or_twice in (hidden, known.hide_all(hidden)):
        assert json.loads(known.reveal(json.dumps(once_or_twice).encode())) == given
    assert secret not in hidden["note"].replace("(hidden: PASSWORD)", "")


@pytest.mark.parametrize(
    "written", [shlex.quote, lambda text: json.dumps(text), repr, lambda text: f"{text[:13]}..."]
)
def test_what_is_run_is_given_back_as_it_was(secrets: Secrets, written) -> None:
    """Also where a secret is written in another way, or is a part of one."""
    secret = "'; touch \"it\"; 'x\nand more of it"
    given = {"env": {"PASSWORD": secret}, "setup": [f"login {written(secret)}"]}
    hidden = json.dumps(secrets.learn(given))
    assert "touch" not in hidden or "..." in hidden
    assert json.loads(secrets.reveal(hidden.encode())) == given


def test_json_stays_json_and_its_numbers_what_they_are(secrets: Secrets) -> None:
    secrets.learn_environ(
        {"PASSWORD": "100.5", "A_TOKEN": '"units": "items/s"', "B_TOKEN": "179538377760",
         "C_TOKEN": "step_times", "D_TOKEN": "nplanted-1"}
    )  # fmt: skip
    for line in (
        b'{"rate": 100.5, "units": "items/s", "time": 179538377760, "step_times": [100.50]}\n',
        b'{"time": 1795383777605.5, "x": "100.5 179538377760"}\n',
        b'{"x": "\\nplanted-1 nplanted-1 \\u006eplanted-1"}\n',
    ):
        text = secrets.hide_in_json(line)
        told, shown = json.loads(line), json.loads(text)
        assert {**told, "x": ""} == {**shown, "x": ""}
        assert "nplanted" not in shown.get("x", "").replace("\nplanted", "")
        assert "179538377760" not in shown.get("x", "")
