"""The reference has what the program has."""

import re
from pathlib import Path
from typing import Annotated, Literal

import catalogue
import pytest
from msgspec import Meta
from msgspec.structs import fields

from milabench_ddp.cli import parse
from milabench_ddp.config.schema import Keys
from milabench_ddp.options.command_table import COMMANDS
from milabench_ddp.report.findings import FINDERS
from milabench_ddp.report.tables import REPORT_TABLES, TABLES

DOCS = Path(__file__).resolve().parents[2] / "docs"


def made(name: str) -> str:
    return "\n".join(catalogue.CATALOGUE[name]())


def test_each_part_is_on_one_page() -> None:
    pages = "".join(page.read_text() for page in DOCS.rglob("*.rst"))
    assert sorted(re.findall(r"\.\. catalogue:: (\w+)", pages)) == sorted(catalogue.CATALOGUE)


@pytest.mark.parametrize(
    ("text", "rst"),
    [
        ("the ``a*b`` of *b*", r"the ``a*b`` of \*b\*"),
        ("see `nvidia-smi -rgc`, a_b and c_", r"see ``nvidia-smi -rgc``, a_b and c\_"),
        ("a | b\n  c", r"a \| b c"),
    ],
)
def test_a_text_of_the_package_is_no_markup(text: str, rst: str) -> None:
    assert catalogue.plain(text) == rst


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Annotated[int, Meta(ge=1, le=5000)], "a whole number, from 1 up to 5,000"),
        (Annotated[float, Meta(gt=0)] | None, "a number, more than 0"),
        (Annotated[str, Meta(min_length=1, description="a text")], "a text"),
        (Literal["weak", "strong"] | None, "`weak` or `strong`"),
        (bool, "true or false"),
    ],
)
def test_a_range_in_words(kind: object, words: str) -> None:
    assert catalogue.range_of(kind) == words


@pytest.mark.parametrize("verb", COMMANDS)
def test_each_option_of_a_command_is_told(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse([verb, "--help", "all"])
    options = re.findall(r"^  (--[\w-]+)", capsys.readouterr().out, re.MULTILINE)
    told = re.split(r"^milabench (\w+)\n=+\n", made("commands"), flags=re.MULTILINE)
    section = told[told.index(verb) + 1]
    assert [option for option in options if f"``{option}" not in section] == []


def test_each_key_is_explained() -> None:
    text = (DOCS / "configuration.rst").read_text()
    assert [key.name for key in fields(Keys) if f"``{key.name}``" not in text] == []


def test_each_finding_and_table_is_told() -> None:
    found = made("findings")
    assert [name for name in FINDERS if f"``{name}``" not in found] == []
    tables = made("report_tables")
    assert [name for name in {**TABLES, **REPORT_TABLES} if f"``{name}``" not in tables] == []
