"""How Sphinx builds these pages: sphinx-build -W docs OUTPUT, with the extra ``docs`` installed."""

import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path[:0] = [str(DOCS), str(DOCS.parent)]

from milabench_ddp import __version__ as release  # noqa: E402

project = "milabench_ddp"
extensions = ["directives"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"milabench_ddp {release}"
html_copy_source = False
highlight_language = "text"
html_show_copyright = False
smartquotes = False  # it would make one dash of the two of an option
