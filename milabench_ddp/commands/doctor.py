"""``milabench doctor``: check what a run on this machine needs, and say what to do."""

import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial

from .. import __version__
from ..codec import encode_indented
from ..doctor import device_checks, host_checks, place_checks
from ..doctor.diagnosis import Check, Diagnosis, State, error, examine
from ..errors import MilabenchError
from ..in_time import in_time
from ..options.suite import DoctorOptions, LaunchOptions
from ..wrapped import wrapped
from . import setup
from .final_report import shown_width, write

LIMIT = 9.0  # seconds for all checks
_DRIVER = 4.0  # seconds of them in which the driver tells its devices
_MARGIN = 0.5  # seconds that the commands of a check end before it


def main(options: DoctorOptions) -> int:
    """Print what was found, the worst first; returns 1 if something is an error, else 0."""
    given = asdict(options)
    is_json = given.pop("json")
    order = list(State)
    found = sorted(diagnoses(LaunchOptions(**given)), key=lambda each: order.index(each.state))
    if is_json:
        facts = {"milabench": __version__, "python": sys.executable, "checks": found}
        sys.stdout.write(encode_indented(facts).decode())
    else:
        write("\n".join([*_lines(found, shown_width()), ""]), sys.stdout)
    return int(found[0].state == State.ERROR)


def _lines(found: Sequence[Diagnosis], width: int) -> Iterator[str]:
    counts = Counter(each.state for each in found)
    many = {State.ERROR: "s", State.WARNING: "s", State.OK: ""}
    each_state = [f"{n} {state}{many[state] * (n > 1)}" for state in State if (n := counts[state])]
    yield f"{'FAIL' if State.ERROR in counts else 'PASS'}: {', '.join(each_state)}"
    yield from wrapped(f"milabench {__version__}, {sys.executable}", width, "Machine  ")
    yield ""
    indent = max(len(each.check) for each in found) + 10
    for each in found:
        yield from wrapped(each.found, width, f"{each.state:8} {each.check}".ljust(indent) + " ")
        if each.advice:
            yield from wrapped(each.advice, width, f"{'':{indent}} -> ")


def diagnoses(options: LaunchOptions) -> list[Diagnosis]:
    deadline = time.monotonic() + LIMIT
    system, base = setup.read_system_of(options), setup.base_folder(options)
    runner = setup.resolve_runner(options, system)
    request = setup.node_request(options, system)  # of this host, not of a scheduler's nodes
    kind = "local" if runner is None else runner.kind
    try:
        cluster, wrong = in_time(request.detect, _DRIVER), error("")
    except (MilabenchError, TimeoutError) as raised:
        said = str(raised) or f"not known after {_DRIVER:g} s: see dmesg for Xid, or try again"
        cluster, wrong = None, error(said)
    left = deadline - time.monotonic()
    limit = round(left - _MARGIN, 1)
    checks: dict[str, Check] = {"devices": lambda: [wrong]}
    if cluster is not None:
        checks = {
            "devices": partial(device_checks.devices, cluster, setup.describe(cluster)),
            "torch": partial(device_checks.torch, cluster, limit),
            "load": partial(host_checks.load, cluster),
            "variables": partial(host_checks.variables, cluster, request.nodes),
        }
    checks |= {
        "packages": device_checks.packages,
        "base": partial(place_checks.folder, base),
        "py-spy": host_checks.py_spy,
        "slurm": partial(place_checks.slurm, kind == "slurm", limit),
    }
    if request.hosts and runner is not None:
        runner = setup.inside(runner, base, cluster.arch if cluster else "", ())
        checks["ssh"] = partial(
            place_checks.hosts, request.hosts, system.sshkey, base, runner, limit
        )
    return examine(checks, left)
