"""Hides secrets in everything that is written or shown, and reveals them to programs.

In the place of a secret stands ``(hidden: HF_TOKEN)``: the name of the variable from which a script
or a resumed run takes it; or ``(hidden)``, if nothing of this process was given it.
"""

import json
import os
import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from itertools import chain, count
from typing import Any, TypeVar

from .errors import RunDirError
from .literals import Literals
from .secrets import FEWEST, NUMBER, is_secret, is_value, marked_value, with_forms, with_named

T = TypeVar("T")
HIDDEN = "(hidden)"
GIVEN = "MILABENCH_SECRETS"  # a variable with the secrets of a plan, for agents and jobs, as JSON
MARK = re.compile(r"\(hidden: ([A-Za-z_][A-Za-z0-9_]*)\)")
_WHOLE_MARK = re.compile(rf"({MARK.pattern.replace('([', '(?:[')})")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LAST_WORD = re.compile(r"[\w-]+")
_BLANK = re.compile(r"\s")
_OURS = re.compile(r"[a-z_]+")  # keys of our own records
_WORDS = frozenset(("cancelled", "separate", "torchrun"))  # values of our own records
_SHORTEST = 5  # characters of a secret that is looked for in other texts
_LIKE_A_WORD = 8  # characters, below which it is looked for as a word, and has digits or signs
_LINE = 12  # characters of a line of a secret that is looked for by itself
_STRING = re.compile(r'("(?:[^"\\]|\\.)*")(\s*:)?')  # of JSON; a key has a colon


class Secrets:
    """The secrets that this process was given: it knows them wherever they turn up."""

    def __init__(self) -> None:
        self.version = 0  # changes with what is known
        self.forget()

    def forget(self) -> None:
        self.more: set[str] = set()  # further names, with `*` and `?`
        self._learns = False
        self._public = set(_WORDS)
        self._environ: Mapping[str, str] = {}
        self._names: dict[str, str] = {}  # by the secret
        self.given = ""  # what GIVEN is for those who run the plan; empty if it has no secret
        self._least = FEWEST  # characters of a text that can have one
        self._take({})
        self._hidden: dict[str, str] = {}  # texts that secrets were learned from
        self.version += 1

    @property
    def known(self) -> dict[str, str]:
        return {name: value for value, name in self._names.items()}

    def learn_environ(self, environ: Mapping[str, str]) -> None:
        self._environ = {name: value for name, value in environ.items() if name != GIVEN}
        for name, value in json.loads(environ.get(GIVEN) or "{}").items():
            self._learn(name, value)
        for name, value in self._environ.items():
            if self._names_secret(name, value) or with_forms(value, lambda _: HIDDEN) != value:
                self._learns = True
                self._within(name, value)  # a part of it, too, such as the password of an address
                self._mark(name, value)
                self._learns = False

    def learn(self, given: T) -> T:
        """What is configured, without its secrets, each of which has a name from now on."""
        before, self._learns = self._learns, True
        try:
            hidden: T = self.hide_all(given)
            return hidden
        finally:
            self._learns = before

    def heed(self, names: Iterable[str], spared: Iterable[str] = ()) -> None:
        """Heed what a benchmark says.

        Args:
            names: whose values are hidden from now on, too; they may have `*` and `?`.
            spared: texts that are left as they are, such as its own name.
        """
        self._public.update(spared)
        needles = self._needles.items()
        self._take({text: name for text, name in needles if text not in self._public})
        self._hidden.clear()
        self.version += 1
        if new := set(names) - self.more:
            self.more |= new
            self.learn_environ(self._environ)

    def _names_secret(self, name: str, value: str) -> bool:
        if self.more and any(fnmatchcase(name.lower(), each.lower()) for each in self.more):
            return bool(value)
        return is_secret(name) and is_value(name, value)

    def _mark(self, name: str, value: str) -> str:
        if value not in self._names:
            if not self._learns:
                return HIDDEN
            self._learn(self._variable(name, value), value)
        return f"(hidden: {self._names[value]})"

    def _variable(self, name: str, value: str) -> str:
        word = [name, *_LAST_WORD.findall(name)][-1].strip("-")
        wanted = re.sub(r"\W", "_", word, flags=re.ASCII)
        if "-" in name:
            wanted = wanted.upper()
        if not _IDENTIFIER.fullmatch(wanted):
            wanted = f"SECRET_{wanted}"
        if self._environ.get(wanted) == value:
            return wanted
        for known, of_caller in self._environ.items():
            if of_caller == value and len(value) >= _SHORTEST and _IDENTIFIER.fullmatch(known):
                return known
        taken = {*self._environ, *self._names.values()}
        free = chain([wanted], (f"{wanted}_{number}" for number in count(2)))
        return next(name for name in free if name not in taken)

    def _learn(self, name: str, value: str) -> None:
        self._names[value] = name
        self._hidden.clear()
        self.version += 1
        if len(value) < _SHORTEST or value in self._public:
            return
        if len(value) < _LIKE_A_WORD and (value.isalpha() or NUMBER.fullmatch(value)):
            return
        # imported here because it takes long to import
        from urllib.parse import quote

        lines = [line.strip() for line in value.splitlines()]
        texts = {value, *(line for line in lines if len(line) >= _LINE)}
        for text in list(texts):
            texts |= {json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}
            texts |= {repr(text)[1:-1], text.replace("'", "'\"'\"'"), text.replace('"', '""')}
            texts.add(quote(text, safe="", errors="surrogateescape"))
        self._least = min(self._least, *map(len, texts))
        self._take({**self._needles, **dict.fromkeys(texts - self._needles.keys(), name)})

    def _take(self, needles: Mapping[str, str]) -> None:
        """Look for these texts, the longest first, from now on; each has the name of its secret."""
        self._needles = needles
        self._texts = sorted(needles, key=len, reverse=True)
        self._literals = Literals(self._texts)

    def hide(self, text: str) -> str:
        """A text without the secrets that this process was given, or that have a form."""
        return with_forms(self._without_known(text), lambda _: HIDDEN)

    def hide_in_json(self, text: bytes) -> bytes:
        """Lines of JSON without the secrets that this process was given; fast where none is.

        They are looked for in its strings alone: all else is as it was.
        """
        if not self._needles:
            return text
        lines = text.decode()
        is_clean = "\\u" not in lines and not self._literals.numbers_in(lines)
        return text if is_clean else _STRING.sub(self._hide_string, lines).encode()

    def _hide_string(self, found: re.Match[str]) -> str:
        string = json.loads(found[1], strict=False)
        if found[2] and _OURS.fullmatch(string):
            return found[0]
        hidden = self._without_known(string)
        return found[0] if hidden == string else json.dumps(hidden) + (found[2] or "")

    def _without_known(self, text: str) -> str:
        texts, names = self._texts, self._needles  # as they are now: it may learn more

        def replaced(number: int, text: str) -> str:
            needle = texts[number]
            mark = f"(hidden: {names[needle]})"
            if self._learns:
                # What is given must be had again as it was: as JSON writes it, or a line of it.
                mark = self._mark(names[needle], needle)
            pattern = re.escape(needle)
            if len(needle) < _LIKE_A_WORD:
                pattern = rf"(?<!\w){pattern}(?!\w)"
            parts = _WHOLE_MARK.split(text)
            # between marks, which may have it in them
            parts[::2] = [re.sub(pattern, mark, part) for part in parts[::2]]
            return "".join(parts)

        return self._literals.replace(text, replaced)

    def _within(self, name: str, text: str) -> str:
        """The text of a configuration, or of a program, that stands under a name; learns, too."""
        if text in self._hidden:
            return self._hidden[text]

        def mark(secret: str) -> str:
            is_part = secret != text
            return self._mark(f"{name}_SECRET" if is_part and name else name or "SECRET", secret)

        shown = with_named(self._without_known(text), self._mark)
        shown = with_forms(shown, mark)
        if self._learns:
            self._hidden[text] = shown
        return shown

    def hide_words(self, argv: Iterable[str]) -> list[str]:
        """A command line: ``--api-key x`` and ``--override bench.env.HF_TOKEN=x``, too."""
        words: list[str] = []
        option = ""  # whose value is the next word
        for word in argv:
            shown = word
            if option and self._names_secret(option, word):
                shown = self._mark(option, word)
            elif option:
                shown = marked_value(option, word, self._mark)
            if shown == word:
                shown = self._hidden.get(word) or self._word(word)
            words.append(shown)
            option = word if word.startswith("-") and "=" not in word else ""
        return words

    def _word(self, word: str) -> str:
        name, equals, value = word.partition("=")
        if not equals or _BLANK.search(name) or not self._names_secret(name, value):
            return self._within("", word)
        return f"{self._within('', name)}={self._mark(name, value)}"

    def hide_all(self, value: Any, key: str = "") -> Any:
        """What JSON can hold, without secrets: by their keys, in command lines, in texts."""
        match value:
            case str():
                if self._names_secret(key, value):
                    return self._mark(key, value)
                return self._within(key, value)
            case bool() | None:
                return value
            case int() | float():
                text = str(value)
                return self._mark(key, text) if self._names_secret(key, text) else value
            case Mapping():
                return {self._key(name): self.hide_all(each, name) for name, each in value.items()}
            case list() | tuple():
                kinds = set(map(type, value))
                if kinds == {str} and not self._names_secret(key, value[0]):
                    return self.hide_words(value)
                is_plain = kinds <= {int, float, bool} and not self._names_secret(key, "text")
                return value if is_plain else [self.hide_all(item, key) for item in value]
        return value

    def hide_told(self, payload: Mapping[str, object]) -> Mapping[str, object]:
        """What a program told over its metrics channel; most of it has no text that is long."""
        for value in payload.values():
            is_text = isinstance(value, str) and len(value) >= self._least
            if is_text or isinstance(value, dict | list):
                return dict(self.hide_all(payload))
        return payload

    @property
    def mode(self) -> int:
        return 0o600 if self.given else 0o666

    def _key(self, name: str) -> str:
        """A key of a mapping, of which one that is a word of an ``argv`` may be a secret."""
        return name if _OURS.fullmatch(name) else self._within("", name)

    def take_plan(self, hidden: str) -> None:
        known = {**os.environ, **self.known}
        names = dict.fromkeys(MARK.findall(hidden))
        self.given = json.dumps({name: known[name] for name in names}) if names else ""

    def reveal(self, hidden: bytes) -> bytes:
        """JSON with its secrets again: those that are known, or in this environment.

        Raises:
            RunDirError: one is missing.
        """
        text = hidden.decode()
        known = {**os.environ, **self.known}
        missing = sorted({name for name in MARK.findall(text) if name not in known})
        if missing:
            raise RunDirError(
                f"the plan of the run hides secrets that are missing: {', '.join(missing)}; set "
                f"variables of these names in the environment"
            )
        self.take_plan(text)
        return MARK.sub(lambda found: json.dumps(known[found[1]])[1:-1], text).encode()


SECRETS = Secrets()
"""Those of this process."""
hide = SECRETS.hide
