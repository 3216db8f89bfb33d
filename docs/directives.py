"""What the pages have from the package: its catalogue, and the output and charts of recorded runs.

``.. catalogue:: NAME``
    One of ``catalogue.CATALOGUE``.
``.. output:: report slow-rank --table ledger``
    The command and its output, in the folder of the runs of ``tests/corpus``, beside which the runs
    of ``nightly`` are. With ``:lines: 12`` only the first lines.
``.. chart:: slow-rank gpt-ddp.ledger``
    A chart of ``report RUN --plots``; the text below it is its caption.
"""

import os
import shutil
import tempfile
from contextlib import chdir
from pathlib import Path
from typing import Any

import numpy as np
from catalogue import CATALOGUE
from docutils import nodes
from docutils.parsers.rst import directives
from docutils.parsers.rst.directives.images import Figure
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from tests.corpus.runs import make_all
from tests.fuzz.command import milabench
from tests.support.made_up_history import slowed, waving, write_run

WIDTH = "88"  # of an output, in columns: what has room in a page


class Catalogue(SphinxDirective):
    """Puts lines of rst that the catalogue makes in its place."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        made = StringList(list(CATALOGUE[name]()), f"catalogue {name}")
        node = nodes.section()
        node.document = self.state.document
        self.state.nested_parse(made, 0, node, match_titles=True)
        return node.children


class Output(SphinxDirective):
    """Shows a command and what it prints today."""

    required_arguments = 1
    final_argument_whitespace = True
    option_spec = {"lines": directives.positive_int}  # noqa: RUF012

    def run(self) -> list[nodes.Node]:
        command = self.arguments[0]
        with chdir(self.config.recorded_runs):
            done = milabench(*command.split())
        if done.code == 2:
            raise self.error(done.err)
        lines = done.out.strip("\n").splitlines()
        most = self.options.get("lines", len(lines))
        shown = [f"$ milabench {command}", *lines[:most], *["..."][: len(lines) > most]]
        return [nodes.literal_block("", "\n".join(shown), language="text")]


class Chart(Figure):
    """Shows a chart of a recorded run."""

    required_arguments = 2

    def run(self) -> list[nodes.Node]:
        run, name = self.arguments
        env = self.state.document.settings.env
        folder = Path(env.config.recorded_runs) / "charts" / run
        if not folder.exists():
            with chdir(env.config.recorded_runs):
                milabench("report", run, "--plots", str(folder))
        copy = Path(env.srcdir) / "_charts" / f"{run}.{name}.svg"
        copy.parent.mkdir(exist_ok=True)
        shutil.copyfile(folder / f"{name}.svg", copy)
        self.arguments = [f"/_charts/{copy.name}"]
        self.options.setdefault("alt", name)
        return list(super().run())


def _make_runs(app: Sphinx) -> None:
    folder = tempfile.mkdtemp(prefix="milabench-docs-")
    app.config.recorded_runs = folder
    os.environ["COLUMNS"] = WIDTH
    with chdir(folder):
        make_all(Path())
    rates = 100 * np.exp(slowed(waving(1, runs=30, devices=8), device=3, run=21))
    for number, levels in enumerate(rates, start=1):
        speeds = {f"GPU-{device}": float(level) for device, level in enumerate(levels)}
        write_run(Path(folder, "nightly"), number, {"flops": speeds})


def _remove_runs(app: Sphinx, _: Exception | None) -> None:
    shutil.rmtree(app.config.recorded_runs, ignore_errors=True)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives."""
    app.add_config_value("recorded_runs", "", "")
    app.add_directive("catalogue", Catalogue)
    app.add_directive("output", Output)
    app.add_directive("chart", Chart)
    app.connect("builder-inited", _make_runs)
    app.connect("build-finished", _remove_runs)
    return {"parallel_read_safe": False}
