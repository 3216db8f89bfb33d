"""What looks like a secret, by its name and by its form, and what only seems to."""

import re
import shlex
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.hidden import Secrets
from milabench_ddp.secrets import (
    BEHIND,
    FORMS,
    is_secret,
    is_value,
    marked_value,
    with_forms,
    with_named,
)
from milabench_ddp.secrets import NAMES as PARTS

OF_SECRETS = [
    "HF_TOKEN", "HFTOKEN", "hfToken", "token", "--token", "--hub-token", "HUGGING_FACE_HUB_TOKEN",
    "GITHUB_TOKEN_2", "WANDB_API_KEY", "--api-key", "apiKey", "API_KEY_PROD",
    "AWS_SECRET_ACCESS_KEY", "PRIVATE_KEY", "--key", "GPG_KEY", "PASSWORD", "PGPASSWORD",
    "MYSQL_PWD", "DB_PASS", "SSHPASS", "--password", "client_secret", "CLIENT_SECRET_ID_VALUE",
    "AZURE_CREDENTIALS", "SLURM_JWT", "REDISCLI_AUTH", "GITHUB_PAT", "bench.env.DB_PASSWORD",
    "*.argv.--auth-token",
]  # fmt: skip
OF_OTHERS = [
    "PWD", "OLDPWD", "PATH", "HOME", "SSH_AUTH_SOCK", "--tokenizer", "--max-tokens",
    "--num-key-value-heads", "--max-token", "--pad-token", "--pad-token-id", "--sort-key",
    "monkey", "KEYBOARD", "--password-file", "TOKEN_PATH", "AWS_ACCESS_KEY_ID", "--token-dim",
    "--bypass", "--forward-pass", "XAUTHORITY", "CUDA_VISIBLE_DEVICES", "keys", "sshkey", "author",
    "pattern",
]  # fmt: skip


@pytest.mark.parametrize("name", OF_SECRETS)
def test_names_of_secrets(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize("name", OF_OTHERS)
def test_names_of_other_things(name: str) -> None:
    assert not is_secret(name)


EXAMPLES = {
    **{begin: begin + "0123456789abcdefABCDEF" for begin in ("ghp_", "gho_", "ghu_", "ghs_")},
    "ghr_": "ghr_0123456789abcdefABCDEF",
    "github_pat_": "github_pat_11ABCDEFG0123456789_abcdef",
    "glpat-": "glpat-0123456789abcdefABCD",
    "hf_": "hf_aBcDeFgHiJkLmNoPqR",
    "api_org_": "api_org_aBcDeFgHiJkLmNoPqR",
    "wandb_v1_": "wandb_v1_0123456789abcdef_ABCDEF",
    "local-": "local-" + "0a" * 20,
    "nvapi-": "nvapi-0123456789abcdefABCDEF",
    "sk-": "sk-ant-api03-0123456789abcdef",
    **{begin: begin + "0123456789abcdefABCDEF" for begin in ("sk_live_", "rk_live_", "sk_test_")},
    **{begin: begin + "0123456789ABCDEF" for begin in ("AKIA", "ASIA")},
    "AIza": "AIza" + "Sy0_-" * 7,
    "ya29.": "ya29.a0123456789_abcdef-ABC",
    **{f"xox{kind}-": f"xox{kind}-123456789012-abcdefABCDEF" for kind in "abprs"},
    "xoxe.": "xoxe.1-0123456789abcdef",
    "xapp-": "xapp-1-A0123456789-abcdef",
    "eyJ": "eyJhbGciOiJIUzI1.eyJzdWIi.c2ln",
    "npm_": "npm_" + "0aB" * 12,
    "pypi-": "pypi-" + "AgEIcHlwaS5vcmc_" * 3,
    "dapi": "dapi" + "0a" * 16,
    "dop_v1_": "dop_v1_" + "0a" * 32,
    "SG.": "SG.0123456789abcdef_-AB.0123456789abcdef_-AB",
    "-----BEGIN ": "-----BEGIN RSA PRIVATE KEY-----\nb3BlbnNz\n-----END RSA PRIVATE KEY-----",
}


def test_every_form_has_an_example() -> None:
    assert EXAMPLES.keys() == FORMS.keys()


@pytest.mark.parametrize("secret", EXAMPLES.values())
def test_forms_in_a_text(secret: str) -> None:
    assert with_forms(f"a={secret}, b", lambda _: "?") == "a=?, b"
    if not secret.startswith("-"):
        assert with_forms(f"in{secret}", lambda _: "?") == f"in{secret}"


def test_what_stands_before_a_secret_is_kept() -> None:
    texts = {
        "https://me:hunter2@example.org/x": "https://me:?@example.org/x",
        "git+ssh://:p@ss@host": "git+ssh://:?@host",
        "Authorization: Bearer abcDEF012345": "Authorization: Bearer ?",
        "basic dXNlcjpwYXNz": "basic ?",
        "https://t0ken@host/x": "https://?@host/x",
        "s3://KEY:S/3@bucket": "s3://KEY:?@bucket",
        "https://hooks.slack.com/services/T012/B345/"
        + "x" * 24: "https://hooks.slack.com/services/?",
    }
    for text, shown in texts.items():
        assert with_forms(text, lambda _: "?") == shown
    assert {begin for text in texts for begin in BEHIND if begin in text} == BEHIND.keys() - {
        "bearer ",
        "Basic ",
    }


@pytest.mark.parametrize(
    "text",
    [
        "http://localhost:8080/a@b",
        '{"a":"http://h:80","b":"x@y"}',
        "a basic configuration",
        "hf_hub_download_and_unpack",
        "scikit task-0123456789abcdefgh sk-learn",
        "-----BEGIN CERTIFICATE-----",
    ],
)
def test_texts_without_a_secret(text: str) -> None:
    assert with_forms(text, lambda _: "?") == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("export HF_TOKEN=abc; echo x", "export HF_TOKEN=<HF_TOKEN>; echo x"),
        ("A='b' DB_PASS='x y' c", "A='b' DB_PASS='<DB_PASS>' c"),
        ("prog --api-key k3y --n 4", "prog --api-key <--api-key> --n 4"),
        ('{"password": "x", "n": 4}', '{"password": "<password>", "n": 4}'),
        ("f(token='abc', n=1)", "f(token='<token>', n=1)"),
        ("https://h/?a=1&access_token=abc&b=2", "https://h/?a=1&access_token=<access_token>&b=2"),
        ("token=None --pad-token x --key 4", "token=None --pad-token x --key 4"),
        ("--token --verbose", "--token --verbose"),
    ],
)
def test_secrets_behind_their_names(text: str, shown: str) -> None:
    assert with_named(text, lambda name, _: f"<{name}>") == shown


def test_a_short_number_is_no_key_but_may_be_a_password() -> None:
    assert (is_value("--key", "4096"), is_value("PASSWORD", "4096")) == (False, True)


def forms_one_by_one(text: str, mark: Callable[[str], str]) -> str:
    """What ``with_forms`` means, looked for in the slowest way."""
    for begin, rest in FORMS.items():
        form = rf"(?<![A-Za-z0-9_]){re.escape(begin)}{rest}"
        text = re.sub(form, lambda found: mark(found[0]), text)
    for begin, (between, rest) in BEHIND.items():
        form = rf"({re.escape(begin)}{between})({rest})"
        text = re.sub(form, lambda found: found[1] + mark(found[2]), text)
    return text


def named_one_by_one(text: str, mark: Callable[[str, str], str]) -> str:
    """What ``with_named`` means, from each character of a name."""
    quoted, plain = r"\"(?P<a>[^\"]*)\"|'(?P<b>[^']*)'", r"[^\s;&|\"'()]+"
    none = "(?P<a>(?!))|(?P<b>(?!))"
    forms = (
        (r"(?P<name>[A-Za-z_*-][\w.*-]*)(?:=| += +(?=[\"']))", rf"{quoted}|(?P<c>{plain})"),
        (r"(?<!\S)(?P<name>--?[A-Za-z][\w-]*) +", rf"{quoted}|(?P<c>(?!-){plain})"),
        (r"\b(?P<name>[A-Za-z_][\w-]*)[\"']?: ?", rf"{quoted}|(?P<c>(?!))"),
        (
            rf"(?<![\w-])(?=[\w-]*(?i:[-_][a-z]|cookie|{'|'.join(PARTS)}))(?P<name>[\w-]+): +",
            rf"{none}|(?P<c>(?:[A-Za-z]+ +)?{plain})",
        ),
    )
    for name, value in forms:
        shown, at = "", 0
        for named in re.finditer(name, text):
            found = re.compile(value).match(text, named.end())
            if named.start() < at or found is None:
                continue
            part = next(part for part in "abc" if found[part] is not None)
            begin, end = found.span(part)
            marked = marked_value(named["name"], found[part], mark)
            if marked != found[part]:
                shown, at = shown + text[at:begin] + marked, end
        text = shown + text[at:]
    return text


SIGNS = ("_", "-", ".", ":", "=", '"', "'", " ", "\n", "/", "@", "*", "1", "a", "A", "é", "--")
NAMES = ("TOKEN", "key", "--password", "x.api_key", "name")
PIECES = (
    *FORMS,
    *BEHIND,
    *EXAMPLES.values(),
    *SIGNS,
    *NAMES,
    "0a" * 10,
    "x" * 20,
    "PRIVATE KEY-----",
)
texts = st.lists(st.sampled_from(PIECES), max_size=25).map("".join)


@given(texts, st.sampled_from(["", " " * 600, "task-" * 200]))
def test_forms_are_those_that_are_found_one_by_one(text: str, filled: str) -> None:
    for whole in (text, filled + text, text + filled):
        shown = with_forms(whole, lambda secret: f"<{secret[:6]}>")
        assert shown == forms_one_by_one(whole, lambda secret: f"<{secret[:6]}>")


@given(texts)
def test_names_are_those_that_are_found_from_each_character(text: str) -> None:
    assert with_named(text, lambda name, value: f"<{name} {value[:3]}>") == named_one_by_one(
        text, lambda name, value: f"<{name} {value[:3]}>"
    )


HOSTILE = (
    *(unit for begin in (*FORMS, *BEHIND) for unit in (begin, f"-{begin}aaaaaa", f"{begin}A ")),
    *("a1", "a-", "a.", "a*", "a", "1", "a=", "a='", 'a="', 'a": ', "--a ", "--a", "a:", "é", " "),
)  # fmt: skip


def test_no_text_takes_much_longer_if_it_is_longer() -> None:
    """Such a line of a program would hold up the supervisor, and all deadlines.

    The growth is compared, in CPU time of this thread: how fast or how busy the machine is does not
    matter. Ten times the text takes 10 times as long in proportion, and 100 times with the square.
    """

    def seconds(text: str) -> float:
        taken = []
        for _ in range(2):
            begin = time.thread_time()
            with_forms(text, lambda _: "?")
            with_named(text, lambda name, _: name)
            taken.append(time.thread_time() - begin)
        return min(taken)

    for unit in HOSTILE:
        short, long = (f"{unit * (size // len(unit))} = : " for size in (2_000, 20_000))
        assert seconds(long) < 40 * seconds(short) + 0.005, unit


PLACES = (  # with %s for the secret
    "--env=HF_TOKEN=%s",
    "--env HF_TOKEN=%s",
    "https://%s@host/x",
    "https://u:%s@h/x?token=%s",
    "https://h/x?sig=%s",
    "https://h/x?a=b&X-Amz-Signature=%s",
    "s3://KEY:%s@bucket",
    "--header=Authorization: Token %s",
    "--header 'Authorization: Token %s'",
    "Cookie: %s",
    "X-Api-Key: %s",
    "Proxy-Authorization: Basic %s",
    "--user me:%s",
    "--user=me:%s",
    "-u me:%s",
    "--proxy-user me:%s",
    "MY_CREDS=%s",
    "API_TOKENS=%s",
    "API_KEYS=%s",
    "SESSION_COOKIE=%s",
    "WIFI_PSK=%s",
    "LOGIN_OTP=%s",
    "PASSCODE=%s",
    "URL_SIGNATURE=%s",
    "HF_TOKEN_PROD=%s",
    "DB_PASSWORD_OLD=%s",
    "API_KEY_2=%s",
    "--password-of-db %s",
    "--auth %s",
    "dsn=postgres://u:%s@h/db",
    "git clone https://u:%s@h/x.git",
    '{"token": "%s"}',
    "export AWS_SECRET_ACCESS_KEY='%s'",
    "f(api_key='%s')",
    "password: '%s'",
    "redis://:%s@h:6379/0",
    "--set auth.token=%s",
    "x=1 --client-secret %s",
    "https://u:%s@h:8080/x",
    "ACCESS_TOKEN_2025=%s",
    "DB_PASSWORD: %s",
    "dbPassword: %s",
    "x.api_key = '%s'",
    "-DSESSION_COOKIES=%s",
    "SIGNATURES=%s",
)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("secret", ["hunter2-Xy9", "Ab3.dEf+gh1=="])
def test_no_place_of_a_command_line_shows_a_secret(place: str, secret: str) -> None:
    whole = place.replace("%s", secret)
    split = shlex.split(whole) if not re.search(r"['\"]|: ", place) else []
    for words in ([whole], split):
        assert secret not in str(Secrets().learn(["prog", *words]))


@pytest.mark.parametrize(
    "text",
    [
        *("--tokens 4096", "--tokens=4096", "--num-tokens 100000000", "--max-tokens=100000000"),
        *("--key-padding zeros", "--stop-tokens 3,4", "--keys a,b", "MASTER_PORT=29500"),
        *("--tokenizer gpt2-large-v1", "--token-dropout 0.1", "--next-token-loss sum"),
        *("http://localhost:8080/a@b", "--user-id 12:30", "-u 5:30", "note: tokens seen 5"),
        *(
            "--user 1000:staff",
            "sig=0.05",
            "--key-cache-dtype fp8_e4m3",
            "key_padding_mask=bool-8x",
        ),
        *("unexpected_keys=fc1.weight2", "--token-mixer conv2d-3x3", "--additional-tokens t1,t2"),
        *("--key-dim 64", "--query-key-norm layer-norm-2", "--pass-rate 0.95", "--signature-len 9"),
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert Secrets().learn(text) == text
    assert Secrets().learn(text.split()) == text.split()


@pytest.mark.parametrize(
    "text",
    [
        "KeyError: 'model.layers.12.weight'",
        'Missing key(s) in state_dict: "fc1.weight"',
        "Missing keys: ['fc1.weight', 'fc2.bias']",
        "token: expected int32, got int64",
        "Key: q_proj.weight1",
    ],
)
def test_what_an_exception_says_stays(text: str) -> None:
    assert with_named(text, lambda *_: "?") == text
