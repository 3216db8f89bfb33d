"""``milabench serve``: show the reports of runs in the browser, on this machine alone."""

from pathlib import Path

from ..errors import RunDirError, SelectionError
from ..options.reading import ServeOptions
from ..report.assemble import report_of
from ..report.page.page import report_html
from ..report.server.served_runs import Runs
from ..report.server.server import Server
from ..results.find_run import is_run, not_there, run_folders


def main(options: ServeOptions) -> int:
    folders = run_folders(options.runs)
    for path in folders:
        if not path.is_dir():
            raise RunDirError(not_there(path))
    if not any(map(is_run, folders)):
        print(f"no run in {' '.join(options.runs)} yet: runs that come are shown", flush=True)
    try:
        server = Server(Runs(options.runs, page_of), options.port)
    except OSError as error:
        raise SelectionError(
            f"--port {options.port}: {error.strerror}; --port 0 takes one that is free"
        ) from error
    with server:
        print(f"{server.url} shows the reports, on this machine alone; Ctrl-C ends it", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()
    return 0


def page_of(path: Path) -> str:
    return report_html(report_of([path]))
