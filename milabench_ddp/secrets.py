"""Recognizes secrets by their names and by their forms.

To hide more, add a word to ``NAMES`` or ``LAST_WORDS``, or a form to ``FORMS``; a configuration
names more with the key ``secrets``.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache, lru_cache

from .literals import Literals

# Parts of the names of secrets, without the characters between words.
NAMES = (
    *("password", "passwd", "passphrase", "secret", "credential", "jwt", "sshpass"),
    *("apikey", "accesskey", "authkey", "encryptionkey", "privatekey", "signingkey"),
    *("accesstoken", "authtoken", "bearertoken", "refreshtoken", "sessiontoken"),
)
# Last words of the names of secrets, and the words that rule it out if they stand before.
LAST_WORDS: Mapping[str, tuple[str, ...]] = {
    "token": (
        *("bos", "cls", "eos", "first", "image", "last", "mask", "max", "next", "num", "pad"),
        *("per", "sep", "sos", "special", "text", "unk"),
    ),
    "key": (
        *("cache", "dict", "foreign", "group", "label", "metric", "num", "partition", "primary"),
        *("public", "query", "sort"),
    ),
    "pass": ("backward", "forward", "per", "single"),
    **dict.fromkeys(("auth", "pat", "pwd"), ()),
}
# Last words of names that are about a secret, but not its own.
ABOUT = (
    *("count", "dim", "dir", "env", "file", "folder", "id", "ids", "len", "length", "manager"),
    *("name", "path", "policy", "prompt", "size", "sock", "stdin", "ttl", "type", "uri", "url"),
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
    "://": (r"[^/\s:@\"'<>]*:", r"[^/\s\"'<>]+(?=@)"),  # a password in an address
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

_QUOTED = r"\"(?P<a>[^\"]*)\"|'(?P<b>[^']*)'"
# A name and its value, as a shell, an option and JSON have them. A name that has no value is looked
# at once, from its first character, and not from each.
_NAMED: Mapping[str, str] = {  # by a character that it has
    "=": r"(?<![\w.*-])(?>[\w.*-]*?(?=[A-Za-z_*-]))(?P<name>[\w.*-]++)"
    rf"=(?:{_QUOTED}|(?P<c>[^\s;&|\"'()]+))",
    " ": rf"(?<!\S)(?P<name>--?[A-Za-z][\w-]*) +(?:{_QUOTED}|(?P<c>(?!-)[^\s;&|\"'()]+))",
    ":": r"(?<![\w-])(?>[\w-]*?\b(?=[A-Za-z_]))(?P<name>[\w-]++)"
    rf"[\"']?: ?(?:{_QUOTED}(?P<c>(?!)))",
}
_LONGEST_NAME = 200  # characters of a name that is remembered
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
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
    words: list[str] = [word.lower() for word in _WORD.findall(name)]
    if not words or words[-1] in ABOUT:
        return False
    joined = "".join(words)
    if any(each in joined for each in NAMES):
        return True
    last = words[-1]
    if last not in LAST_WORDS:
        return last.endswith("token")
    return len(words) == 1 or words[-2] not in LAST_WORDS[last]


def is_value(name: str, value: str) -> bool:
    """Whether a secret of this name may have this value: a short number is none of a weak name."""
    if _NO_VALUE.fullmatch(value):
        return False
    joined = "".join(_WORD.findall(name)).lower()
    return not (value.isdecimal() and len(value) < 8) or any(each in joined for each in NAMES)


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


def with_named(text: str, mark: Callable[[str, str], str]) -> str:
    """The same of each secret behind its name, from both: ``HF_TOKEN=...``, ``--password ...``."""

    def marked(found: re.Match[str]) -> str:
        part = next(part for part in "abc" if found[part] is not None)
        name, value = found["name"], found[part]
        if not (is_secret(name) and is_value(name, value)):
            return found[0]
        begin, end = found.span(part)
        begin, end = begin - found.start(), end - found.start()
        return found[0][:begin] + mark(name, value) + found[0][end:]

    for character, pattern in _NAMED.items():
        if character in text:
            text = re.sub(pattern, marked, text)
    return text
