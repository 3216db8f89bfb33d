"""The reference pages, made from what the package declares: each function yields lines of rst.

``conf.py`` puts them where a page says ``.. catalogue:: NAME``, with the names of ``CATALOGUE``.
"""

import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

from json_schema import SCHEMAS, schema_text
from msgspec.inspect import type_info
from msgspec.structs import fields as keys_of

from milabench_ddp.config import schema
from milabench_ddp.config.published import read_data
from milabench_ddp.config.runner_profile import SETTINGS, RunnerProfile
from milabench_ddp.config.xids import Xid
from milabench_ddp.options.command_table import COMMANDS
from milabench_ddp.options.option import arguments
from milabench_ddp.report import export
from milabench_ddp.report.fields import BENCHMARK, EXPORT, Field
from milabench_ddp.report.findings import FINDERS
from milabench_ddp.report.rank_fields import RANK
from milabench_ddp.report.tables import REPORT_TABLES, TABLES
from milabench_ddp.samples import DeviceSample, HostSample, sensors_of

Lines = Iterator[str]
_LITERAL = re.compile(r"``(.+?)``|`(.+?)`")
_FILLED, _WORD = re.compile(r"\{[^}]*\}|\[[^]]*\]"), re.compile(r"[a-z]{2,}")
_MARKUP = re.compile(r"([\\*`|]|_(?!\w))")


def plain(text: object) -> str:
    """A text of the package as rst: what it has between backticks is literal, nothing else is."""
    parts = _LITERAL.split(" ".join(str(text).split()))
    shown = []
    for plain_text, double, single in zip(
        parts[::3], [*parts[1::3], ""], [*parts[2::3], ""], strict=True
    ):
        shown.append(_MARKUP.sub(r"\\\1", plain_text or ""))
        if word := double or single:
            shown.append(f"``{word}``")
    return "".join(shown)


def literal(text: object) -> str:
    return f"``{text}``" if text not in (None, "") else ""


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Lines:
    """A table of rst; a column in which no row has anything is left out."""
    known = list(rows)
    used = [place for place in range(len(header)) if any(row[place] for row in known)]
    yield from (".. list-table::", "   :header-rows: 1", "   :widths: auto", "")
    for row in (header, *known):
        for place in used:
            yield f"   {'* -' if place == used[0] else '  -'} {row[place]}".rstrip()
    yield ""


def section(title: str, below: str = "=") -> Lines:
    yield from (title, below * len(title), "")


def commands() -> Lines:
    for verb, command in COMMANDS.items():
        what = command.help
        yield from section(f"milabench {verb}")
        yield from (plain(what[0].upper() + what[1:]) + ".", "")
        yield from table(("option", "meaning"), _options_of(verb))


def _options_of(verb: str) -> Iterator[Sequence[str]]:
    for option in fields(COMMANDS[verb].options()):
        for argument, told in arguments(option).items():
            words = "|".join(map(str, told.get("choices") or ())) or told.get("metavar", "")
            named = argument.startswith("-")
            shown = f"{argument} {words}".rstrip() if named else words or argument
            yield literal(shown), plain(str(told["help"]).replace("%%", "%"))


def keys() -> Lines:
    hints = get_type_hints(schema.Keys, include_extras=True)
    rows = (
        (literal(key.name), plain(range_of(hints[key.name])), literal(_default(key.default)))
        for key in keys_of(schema.Keys)
    )
    yield from table(("key", "value", "default"), rows)


def settings() -> Lines:
    hints = get_type_hints(RunnerProfile, include_extras=True)
    defaults = {each.name: each for each in fields(RunnerProfile)}
    rows = []
    for name, each in SETTINGS.items():
        made = defaults[name].default_factory
        default = _default(made()) if callable(made) else ""
        value = plain(range_of(hints[name]))
        rows.append((literal(name), value, literal(default), literal(each.flag), plain(each.help)))
    yield from table(("setting", "value", "default", "option", "meaning"), rows)


def _default(value: object) -> str:
    empty = value is None or value == () or value == {}
    return "" if empty else json.dumps(value).strip('"')


def range_of(kind: object) -> str:
    """What a value may be, in words: its type, and its least and largest value."""
    for part in get_args(kind):
        if get_origin(part) is Literal:
            kind = part
    if get_origin(kind) is Literal:
        return " or ".join(f"`{word}`" for word in get_args(kind))
    told = json.loads(json.dumps(_told(kind)))
    words = told.get("description") or _WORDS.get(told.get("type", ""), "")
    if not told.get("description"):
        low, high = told.get("ge", told.get("gt")), told.get("le")
        above = "more than" if "gt" in told else "from"
        words += f", {above} {low:,}" if low is not None else ""
        words += f" up to {high:,}" if high is not None else ""
    return str(words)


_WORDS = {
    "bool": "true or false",
    "float": "a number",
    "int": "a whole number",
    "str": "a text",
    "struct": "a mapping",
    "dict": "a mapping",
    "vartuple": "a list",
    "any": "see below",
}


def _told(kind: object) -> dict[str, Any]:
    """The type, the range and the description that msgspec knows of a type."""
    info = type_info(kind)
    if hasattr(info, "types"):  # the one beside None
        info = next(each for each in info.types if type(each).__name__ != "NoneType")
    told: dict[str, Any] = {}
    if hasattr(info, "extra_json_schema"):
        told |= info.extra_json_schema or {}
        info = info.type
    told["type"] = type(info).__name__.removesuffix("Type").lower()
    limits = {name: getattr(info, name, None) for name in ("ge", "gt", "le")}
    return told | {name: limit for name, limit in limits.items() if limit is not None}


def plan_methods() -> Lines:
    from milabench_ddp.plan.methods import METHODS

    rows = []
    for name, options in schema.PLAN_METHODS.items():
        said = (f"``{key}: {value or 'node'}``" for key, value in options.items())
        rows.append((literal(name), ", ".join(said), plain(_meaning(METHODS[name]))))
    yield from table(("method", "options", "meaning"), rows)


def numbers() -> Lines:
    yield from section("Of a benchmark")
    yield from _fields(BENCHMARK)
    yield from section("Of a rank")
    yield from _fields(RANK)
    for title, sample in (("Of a device", DeviceSample), ("Of a host", HostSample)):
        yield from section(title)
        sensors = sensors_of(sample)
        rows = ((literal(s.name), plain(s.unit), plain(s.meaning)) for s in sensors)
        yield from table(("name", "unit", "meaning"), rows)


def _fields(declared: Iterable[Field]) -> Lines:
    rows = []
    for each in declared:
        also = [f"``--table {each.metric}``"] if each.metric else []
        also += [f"``--sort {each.sort}``"] if each.sort else []
        also += ["in the export alone"] if each.places == EXPORT else []
        more = f" ({', '.join(also)})" if also else ""
        meaning = (plain(each.meaning) or "its share of a step") + more
        rows.append((literal(each.name), literal(each.heading), plain(each.unit), meaning))
    yield from table(("name", "column", "unit", "meaning"), rows)


def columns() -> Lines:
    """The columns of the main table, those first that stay longest where not all have room."""
    shown = sorted((each for each in BENCHMARK if each.stays), key=lambda each: each.stays)
    yield from (", ".join(literal(each.heading) for each in shown) + ".", "")


def findings() -> Lines:
    for severity in ("error", "warning", "note"):
        yield from section(f"{severity.capitalize()}s")
        for name, finder in FINDERS.items():
            if finder.severity != severity:
                continue
            layer = f"milabench's layer ``{finder.layer}``" if finder.layer else ""
            told = [plain(_meaning(finder.search)), layer]
            if len(_WORD.findall(_FILLED.sub("", finder.sentence))) > 1 or not any(told):
                told.append(f"says: ``{finder.sentence}``")
            told += [f"do: {plain(finder.advice)}"] if finder.advice else []
            yield literal(name)
            for text in filter(None, told):
                yield from (f"    {text}", "")


def _meaning(declared: object) -> str:
    return (inspect.getdoc(declared) or "").split("\n\n")[0]


def report_tables() -> Lines:
    rows = []
    for name, each in {**TABLES, **REPORT_TABLES}.items():
        columns = getattr(each, "columns", ())
        meaning = getattr(each, "title", "") or _meaning(getattr(each, "make", each))
        names = ", ".join(column.name for column in columns)
        rows.append((literal(name), plain(meaning), plain(names)))
    yield from table(("``--table``", "what", "columns, where they are fixed"), rows)


def exported() -> Lines:
    for name, each in export.TABLES.items():
        yield from section(name, "-")
        yield from (plain(each.meaning), "")
        rows = (
            (literal(c.name), c.kind.__name__, plain(c.unit), plain(c.meaning))
            for c in each.columns
        )
        yield from table(("column", "type", "unit", "meaning"), rows)


def documents() -> Lines:
    for name in SCHEMAS:
        document = json.loads(schema_text(name))
        yield from section(name.capitalize())
        yield from (f":download:`{name}.schema.json`", "")
        root = document.get("$ref", "").rpartition("/")[2]
        for part, told in document["$defs"].items():
            properties = told.get("properties")
            if not properties:
                continue
            yield from (f"**{part}**{' (the document)' if part == root else ''}", "")
            rows = (
                (literal(key), plain(_shape(value)), plain(value.get("description", "")))
                for key, value in properties.items()
            )
            yield from table(("field", "type", "meaning"), rows)


def device_errors() -> Lines:
    rows = []
    for name, xid in read_data("xids", Xid).items():
        numbers = ", ".join(map(str, xid.numbers))
        rows.append((numbers, literal(name), plain(xid.means), xid.severity, xid.action))
    yield from table(("Xids", "Name", "What it means", "Severity", "Action"), rows)


def _shape(told: Mapping[str, Any]) -> str:
    """The type of a field of a document, in a few words."""
    if "anyOf" in told:
        return " or ".join(dict.fromkeys(_shape(each) for each in told["anyOf"]))
    if "$ref" in told:
        return str(told["$ref"].rpartition("/")[2])
    kind = told.get("type", "anything")
    names = [kind] if isinstance(kind, str) else kind
    if names == ["array"] and isinstance(told.get("items"), dict):
        return f"list of {_shape(told['items'])}"
    return " or ".join(names)


CATALOGUE: Mapping[str, Callable[[], Lines]] = {
    each.__name__: each
    for each in (
        *(commands, keys, settings, plan_methods, numbers, columns, findings),
        *(report_tables, exported, documents, device_errors),
    )
}
