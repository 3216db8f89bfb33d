"""The command in this process, its output as bytes would carry it, and the law that it keeps."""

import io
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass

from milabench_ddp.cli import main
from milabench_ddp.visible import visible

MOST_SAID = 20_000  # characters of an error message: a person reads it


@dataclass(frozen=True)
class Said:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str


def milabench(*argv: str) -> Said:
    """Run the command; exceptions other than its own exits come through."""
    out = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    err = io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace", write_through=True)
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = main(argv)
        except SystemExit as stopped:  # of argparse
            code = stopped.code if isinstance(stopped.code, int) else int(stopped.code is not None)
    return Said(code, _text(out), _text(err))


def _text(stream: io.TextIOWrapper) -> str:
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue().decode(errors="surrogateescape")


def check_refusal(said: Said, codes: Sequence[int]) -> None:
    """It ended as documented; a refusal is one short message, and nothing else."""
    assert said.code in codes, f"exit code {said.code}: {said.err[-2000:]}"
    assert "Traceback" not in said.err, said.err[-3000:]
    assert visible(said.err) == said.err, f"unseen characters: {said.err[-2000:]!a}"
    if said.code == 2:
        assert said.out == "", "an error after output"
        last = next((text for text in said.err.splitlines() if text.startswith("milabench")), "")
        assert last.startswith("milabench"), f"no message: {last[:80]}"
        assert len(said.err) < MOST_SAID, f"a message of {len(said.err)} characters"
