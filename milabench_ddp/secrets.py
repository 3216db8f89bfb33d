"""Recognizes secrets by their names and by their forms.

To hide more, add a word to ``NAMES`` or ``WORDS``, or a form to ``FORMS``; a configuration names
more with the key ``secrets``.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache

from .literals import Literals

# Parts of the names of secrets, without the characters between words.
NAMES = (
    *("password", "passwd", "passphrase", "secret", "credential", "jwt", "sshpass"),
    *("apikey", "accesskey", "authkey", "encryptionkey", "privatekey", "signingkey"),
    *("accesstoken", "authtoken", "bearertoken", "refreshtoken", "sessiontoken"),
    *("authorization", "passcode"),
)
# Words of the names of secrets, and the words that rule it out if they stand before.
_TOKENS = (
    *("bos", "cls", "eos", "first", "image", "last", "mask", "max", "next", "num", "pad"),
    *("per", "sep", "sos", "special", "text", "unk", "added", "additional", "extra", "min", "new"),
    *("stop", "total", "vocab"),
)
_KEYS = (
    *("cache", "dict", "foreign", "group", "label", "metric", "num", "partition", "primary"),
    *("public", "query", "sort", "attn", "best", "ignored", "kv", "missing", "state", "unexpected"),
)
WORDS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("token", "tokens"), _TOKENS),
    **dict.fromkeys(("key", "keys"), _KEYS),
    "pass": ("backward", "first", "forward", "last", "per", "second", "single"),
    **dict.fromkeys(("auth", "pat", "pwd", "bearer", "cookie", "cookies", "cred", "creds"), ()),
    **dict.fromkeys(("otp", "psk", "sig", "signature", "signatures"), ()),
}
USERS = ("user", "proxy-user", "u")  # options whose value is a name and a password
# Last words of names that are about a secret, but not its own.
ABOUT = (
    *("count", "dim", "dir", "env", "file", "folder", "id", "ids", "len", "length", "manager"),
    *("name", "path", "policy", "prompt", "size", "sock", "stdin", "ttl", "type", "uri", "url"),
)
# Words that rule out one of ``WORDS`` before them: an error, and what models and texts have.
AFTER = (
    *ABOUT,
    *("bias", "bits", "budget", "cache", "check", "columns", "cutter", "dropout", "dtype"),
    *("embedding", "error", "heads", "index", "mask", "merge", "mixer", "mode", "norm", "padding"),
    *("proj", "quant", "ratio", "states", "through", "timeout", "values", "weight"),
)
PLAIN = ("PWD", "OLDPWD")  # names that only look like those of secrets

# How a secret begins, and a regular expression for its rest.
FORMS: Mapping[str, str] = {
    **dict.fromkeys(("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"[A-Za-z0-9]{20,}"),  # GitHub
    "github_pat_": r"\w{20,}",
    "glpat-": r"[\w.-]{16,}",  # GitLab
    **dict.fromkeys(("hf_", "api_org_"), r"[A-Za-z0-9]{16,}"),  # Hugging Face
    "wandb_v1_": r"\w{20,}",  # Weights & Biases; its older keys have no form
    "local-": r"[0-9a-f]{40}",
    "nvapi-": r"[\w-]{20,}",  # NVIDIA
    "sk-": r"(?=[\w-]*\d)[\w-]{16,}",  # OpenAI, Anthropic
    **dict.fromkeys(("sk_live_", "rk_live_", "sk_test_"), r"[A-Za-z0-9]{16,}"),  # Stripe
    **dict.fromkeys(("AKIA", "ASIA"), r"[0-9A-Z]{16}"),  # AWS
    "AIza": r"[\w-]{35}",  # Google
    "ya29.": r"[\w-]{20,}",
    **dict.fromkeys(
        ("xoxa-", "xoxb-", "xoxe.", "xoxp-", "xoxr-", "xoxs-", "xapp-"), r"[\w.-]{10,}"
    ),
    "eyJ": r"[\w-]{6,}\.[\w-]{6,}(?:\.[\w-]*)*",  # a JSON web token
    "npm_": r"[A-Za-z0-9]{30,}",
    "pypi-": r"[\w-]{30,}",
    "dapi": r"[0-9a-f]{32}",  # Databricks
    "dop_v1_": r"[0-9a-f]{40,}",  # DigitalOcean
    "SG.": r"[\w-]{16,}\.[\w-]{16,}",  # SendGrid
    "-----BEGIN ": r"[A-Z0-9 ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\Z)",
}
# Text before a secret, by its beginning: the rest of that text, and the secret.
BEHIND: Mapping[str, tuple[str, str]] = {
    "://": (r"[^/\s:@\"'<>]*:", r"(?!\d{1,5}/)[^\s\"'<>]{1,200}(?=@)"),  # a password in an address
    "https://": ("", r"[^/\s:@\"'<>]+(?=@)"),  # a token in the place of the user
    "hooks.slack.com/services/": ("", r"[\w/]{20,}"),
    **dict.fromkeys(
        ("Bearer ", "bearer ", "Basic ", "basic "), ("", r"(?=\S*[A-Z\d=])[\w.~+/=-]{12,}")
    ),
}
# What is passed over where no secret is: else a text of beginnings is looked at from each of them.
PASSED: Mapping[str, str] = dict.fromkeys(("sk-", "eyJ"), r"[\w-]*+")
_BEGINNINGS = (*FORMS, *BEHIND)
_LITERALS = Literals(_BEGINNINGS)
FEWEST = 12  # characters of a form

_QUOTED = r"\"([^\"]*)\"|'([^']*)'"
# A name, by a character behind it, and its value: as a shell, an option, JSON and a header of HTTP
# have them. A name is looked at once, from its first character, and not from each.
_PLAIN_VALUE = r"[^\s;&|\"'()]+"
_NAMED: Sequence[tuple[str, str, str]] = (
    (
        "=",
        r"(?<![\w.*-])(?>[\w.*-]*?(?=[A-Za-z_*-]))(?P<name>[\w.*-]++)(?:=| += +(?=[\"']))",
        rf"{_QUOTED}|({_PLAIN_VALUE})",
    ),
    (
        " ",
        r"(?<!\S)(?P<name>--?[A-Za-z][\w-]*+) +",
        rf"{_QUOTED}|((?!-){_PLAIN_VALUE})",
    ),
    (
        ":",
        r"(?<![\w-])(?>[\w-]*?\b(?=[A-Za-z_]))(?P<name>[\w-]++)[\"']?: ?",
        _QUOTED,
    ),
    (
        ": ",
        rf"(?<![\w-])(?=[\w-]*?(?i:[-_][a-z]|cookie|{'|'.join(NAMES)}))(?P<name>[\w-]++): +",
        rf"((?:[A-Za-z]+ +)?{_PLAIN_VALUE})",
    ),
)
_LONGEST_NAME = 200  # characters of a name that is remembered
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_LETTER = re.compile("^-[A-Za-z](?=[A-Z])")  # an option that its value follows: -DNAME=value
Mark = Callable[[str, str], str]  # of a name and a secret
NUMBER = re.compile(r"[-+]?[\d.]+(?:[eE][-+]?\d+)?")
_NO_VALUE = re.compile(
    r"|true|false|yes|no|on|off|none|null|auto|default|<.*>|\[.*\]|\(hidden.*", re.IGNORECASE
)


def is_secret(name: str) -> bool:
    """Whether the value of a variable, an option or a key of this name is a secret."""
    if len(name) > _LONGEST_NAME:  # a program may tell many of them
        return _is_secret.__wrapped__(name)
    return _is_secret(name)


@lru_cache(maxsize=10_000)
def _is_secret(name: str) -> bool:
    if name in PLAIN:
        return False
    words = _words(name)
    if not words or words[-1] in ABOUT:
        return False
    joined = "".join(words)
    if any(each in joined for each in NAMES) or words[-1].endswith("token"):
        return words[-1] not in WORDS or _counts(words, len(words) - 1)
    return any(_counts(words, at) for at in range(len(words)))


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(_LETTER.sub("", name))]


def _counts(words: list[str], at: int) -> bool:
    """Whether a word of a name is one of ``WORDS``, and none before it rules it out.

    ``keys`` alone are those of a mapping, ``tokens`` those of a text.
    """
    if words[at] not in WORDS or (words[at + 1 : at + 2] and words[at + 1] in AFTER):
        return False
    return words[at - 1] not in WORDS[words[at]] if at else words[at] not in ("keys", "tokens")


def is_value(name: str, value: str) -> bool:
    """Whether a secret of this name may have this value.

    A number is none of a weak name, unless it is long; nor is a plain word, if the name goes on.
    """
    if _NO_VALUE.fullmatch(value):
        return False
    words = _words(name)
    joined = "".join(words)
    if any(each in joined for each in NAMES):
        return True
    if words and words[-1] in ("tokens", "keys") and not re.search("[A-Za-z]", value):
        return False
    if words and words[-1] not in WORDS and not words[-1].endswith("token"):
        return len(value) >= 8 and not value.isalpha() and not NUMBER.fullmatch(value)
    return not (NUMBER.fullmatch(value) and len(value) < 8)


@cache
def _form(begin: str) -> re.Pattern[str]:
    """The pattern of a form; its group ``rest`` is None if there is no secret. Few are ever needed.

    It begins with its literal, for which ``re`` looks fast.
    """
    literal = re.escape(begin)
    if begin in BEHIND:
        between, rest = BEHIND[begin]
        return re.compile(f"{literal}{between}(?P<rest>{rest})")
    passed = PASSED.get(begin, "(?!)")
    return re.compile(f"{literal}(?<![A-Za-z0-9_]{literal})(?:(?P<rest>{FORMS[begin]})|{passed})")


def with_forms(text: str, mark: Callable[[str], str]) -> str:
    """The text with what ``mark`` makes of each secret in it that has a form."""
    if len(text) < FEWEST:
        return text

    def replaced(number: int, text: str) -> str:
        begin = _BEGINNINGS[number]

        def marked(found: re.Match[str]) -> str:
            if found["rest"] is None:
                return found[0]
            at = found.start("rest") - found.start() if begin in BEHIND else 0
            return found[0][:at] + mark(found[0][at:])

        return _form(begin).sub(marked, text)

    return _LITERALS.replace(text, replaced)


def with_named(text: str, mark: Mark) -> str:
    """The same of each secret behind its name, from both: ``HF_TOKEN=...``, ``--password ...``."""
    for character, name, value in _NAMED:
        if character in text:
            text = _with_values(text, re.compile(name), re.compile(value), mark)
    return text


def _with_values(text: str, names: re.Pattern[str], values: re.Pattern[str], mark: Mark) -> str:
    """The text with what ``mark`` makes of the secrets behind names, also of ``--env=TOKEN=x``."""
    parts, at = [], 0
    for named in names.finditer(text):
        name = named["name"]
        if named.start() < at or not (is_secret(name) or _names_user(name)):
            continue
        if found := values.match(text, named.end()):
            group = found.lastindex or 0  # the one of both quotes, or of none, that matched
            begin, end = found.span(group)
            parts += [text[at:begin], marked_value(name, found[group], mark)]
            at = end
    return "".join([*parts, text[at:]])


def marked_value(name: str, value: str, mark: Mark) -> str:
    """A value under a name, with what ``mark`` makes of the secret that it is, or that it has."""
    if is_secret(name) and is_value(name, value):
        return mark(name, value)
    user, colon, password = value.partition(":")
    is_account = colon and _names_user(name) and not user.isdecimal()  # 1000:staff is of docker
    if is_account and password and not NUMBER.fullmatch(password):
        return f"{user}:{mark(name, password)}"
    return value


def _names_user(option: str) -> bool:
    return option.startswith("-") and option.strip("-") in USERS
