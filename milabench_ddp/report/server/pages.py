"""The pages around the reports: the list of runs, and the progress of one that goes on."""

from collections.abc import Mapping
from html import escape
from pathlib import Path

from .runs import Progress

_HERE = Path(__file__).parent
STYLE = (_HERE / "pages.css").read_text("utf-8")
SCRIPT = (_HERE / "follow.js").read_text("utf-8")


def list_page(runs: Mapping[str, Progress]) -> str:
    rows = []
    for key, run in runs.items():
        link = f'<a href="/runs/{escape(key)}/">{escape(run.name)}</a>'
        rows.append(f"<tr><td>{link}</td><td>{escape(run.sentence)}</td></tr>")
    table = f"<table><tr><th>run</th><th>state</th></tr>{''.join(rows)}</table>"
    found = table if runs else "<p>There is no run yet.</p>"
    return _page("milabench runs", f"<main><h1>Runs</h1>{found}</main>")


def run_page(key: str, run: Progress) -> str:
    """The page of a run: where it stands, and below its report, in a frame."""
    title = escape(run.name)
    header = (
        f'<header><h1><a href="/">runs</a> / {title}</h1>'
        f'<p id="progress" role="status">{escape(run.sentence)}</p></header>'
    )
    frame = f'<iframe src="/runs/{escape(key)}/report" title="the report of {title}"></iframe>'
    return _page(run.name, f"{header}{frame}<script>{SCRIPT}</script>", run.stamp)


def _page(title: str, body: str, stamp: str = "") -> str:
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="data:,"><title>{escape(title)}</title><style>{STYLE}</style>'
        f'</head><body data-stamp="{escape(stamp)}">{body}</body></html>\n'
    )
