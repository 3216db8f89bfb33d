import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from milabench_ddp.commands.report import run, show
from milabench_ddp.errors import RunDirError
from tests.results.make import RECORDED, config, end, rates, start, write

RIJUBIGO = RECORDED / "milabench" / "rijubigo"


def test_formats() -> None:
    heads = {}
    for format in ("text", "csv", "json"):
        out = io.StringIO()
        assert run([RIJUBIGO], True, format, None, out) == 0
        heads[format] = out.getvalue()
    assert heads["text"].startswith("Run      ")
    assert heads["csv"].startswith("bench,fail,n,")
    assert json.loads(heads["json"])["compat"] is True


def test_it_succeeds_also_where_it_tells_of_failures(tmp_path: Path) -> None:
    write(tmp_path, "b", config("b"), start(), rates([1.0]), end(1))
    out = io.StringIO()
    assert show([tmp_path], out) == 0
    assert "b: failed: exit status 1" in out.getvalue()


def test_a_folder_that_is_none() -> None:
    with pytest.raises(RunDirError, match="did you mean `rijubigo`"):
        run([RIJUBIGO.parent / "rijubogo"], False, "text", None, io.StringIO())


def test_it_is_imported_without_what_is_slow() -> None:
    code = "import sys, milabench_ddp.commands.report; print({'numpy', 'rich'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
