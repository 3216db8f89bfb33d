import errno
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.codec import (
    convert,
    decode,
    encode,
    encode_indented,
    loads,
    read_record,
    write_record,
)
from milabench_ddp.errors import RunDirError
from milabench_ddp.events import Outcome


@dataclass(frozen=True)
class Part:
    name: str
    folder: Path
    devices: tuple[int, ...] = ()


@dataclass
class Whole:
    outcome: Outcome | None
    parts: list[Part] = field(default_factory=list)
    facts: Mapping[str, Any] = field(default_factory=dict)


WHOLE = Whole(Outcome.LOST, [Part("a", Path("/x/y"), (0, 1)), Part("b", Path("z"))], {"n": 1.5})


def test_a_record_comes_back_as_it_was() -> None:
    assert decode(encode(WHOLE), Whole) == WHOLE
    assert decode(encode(Whole(None)), Whole) == Whole(None)


def test_a_record_is_one_line() -> None:
    line = b'{"name":"two\\nlines","folder":"/x","devices":[]}'
    assert encode(Part("two\nlines", Path("/x"))) == line


def test_what_has_no_form_in_json_is_refused() -> None:
    with pytest.raises(TypeError, match="object cannot be written as JSON"):
        encode(object())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"outcome": "ok"', "truncated"),
        ("[]", "Expected `object`, got `array`"),
        ("{}", "missing required field `outcome`"),
        ('{"outcome": "great"}', r"Invalid enum value 'great' - at `\$.outcome`"),
        ('{"outcome": null, "parts": [{"name": 1}]}', r"got `int` - at `\$.parts\[0\].name`"),
    ],
)
def test_what_is_not_such_a_record_is_told_by_its_field(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        decode(text, Whole)


def test_fields_of_a_later_version_are_left_out() -> None:
    assert decode('{"name": "a", "folder": "/x", "colour": "red"}', Part) == Part("a", Path("/x"))


def test_from_what_json_was_decoded_to() -> None:
    assert convert({"name": "a", "folder": "/x", "devices": [3]}, Part) == Part(
        "a", Path("/x"), (3,)
    )
    with pytest.raises(ValueError, match=r"Path cannot be read from JSON - at `\$.folder`"):
        convert({"name": "a", "folder": 1}, Part)


def test_a_path_that_is_not_utf_8(tmp_path: Path) -> None:
    record = Part("a", Path(os.fsdecode(b"/x\xff")))
    assert decode(encode(record), Part) == record
    write_record(tmp_path / "part.json", record)
    assert read_record(tmp_path / "part.json", Part) == record
    with pytest.raises(ValueError, match="missing required field `folder`"):
        decode('{"name": "\\udcff"}', Part)


def test_a_file_is_made_with_its_folder_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "new" / "state.json"
    write_record(path, Part("old" * 1000, Path("/x")))
    write_record(path, WHOLE)
    assert read_record(path, Whole) == WHOLE
    assert [each.name for each in path.parent.iterdir()] == ["state.json"]


def test_a_full_disk_leaves_the_old_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "state.json"
    write_record(path, Whole(None))

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RunDirError, match=f"cannot write {path}: No space left on device"):
        write_record(path, WHOLE)
    assert read_record(path, Whole) == Whole(None)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    with pytest.raises(RunDirError, match=f"cannot read {path}: No such file or directory"):
        read_record(path, Whole)
    path.write_text("{}")
    message = f"{path} was not written by this version of milabench: .*`outcome`"
    with pytest.raises(RunDirError, match=message):
        read_record(path, Whole)


def test_what_is_not_finite_is_null_also_beside_what_is_not_utf_8() -> None:
    record = {"name": "\udcff", "values": [math.nan, (math.inf, 1.0)]}
    whole = b'{"name": "\\udcff", "values": [null, [null, 1.0]]}'
    assert encode(record) == whole
    assert encode_indented(record) == whole + b"\n"


@pytest.mark.parametrize("text", ["plain", "\\ud800"])
def test_what_is_nested_too_deeply_is_a_value_error(text: str) -> None:
    """A lone surrogate is read by another parser, which has the same limit."""
    nested = "[" * 100_000 + "]" * 100_000
    with pytest.raises(ValueError, match="nested too deeply"):
        decode(f'{{"a": "{text}", "b": {nested}}}', dict[str, Any])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'["\ud83d\ude00"]', ["\U0001f600"]),
        (r'["\ud800", {"\uDFFF": "\ud83dx"}]', [r"\ud800", {r"\uDFFF": r"\ud83dx"}]),
        (r'["\\ud800"]', [r"\ud800"]),  # text that looks like one
        (r'["\ud83d\ud83d\ude00"]', ["\\ud83d\U0001f600"]),
        ("[" * 200 + "]" * 200, None),
        ('["' + "[" * 500 + '"]', ["[" * 500]),
    ],
)
def test_what_a_program_wrote_can_be_written_again(text: str, value: object) -> None:
    found = loads(text.encode())
    assert value is None or found == value
    assert json.dumps(found, ensure_ascii=False).encode()


@pytest.mark.parametrize("text", ["[" * 201 + "]" * 201, "[" * 100_000, b"\xff", "", "9" * 5000])
def test_what_a_program_wrote_is_refused_with_a_reason(text: str | bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        loads(text)
