"""Programs that go wrong in a known way, and what must be told of each."""

from collections.abc import Mapping
from dataclasses import dataclass

RATES = 20
"""Rates that each program writes before it goes wrong, unless it is cut short: 100, 101, ..."""

# The ledger has the rates that were surely sent: each is noted once the channel has taken it.
EMIT = """
import json, os, signal, subprocess, sys, time
channel = os.open(os.environ["MILABENCH_METRICS"], os.O_WRONLY)
rank = int(os.environ.get("RANK", 0))
ledger = open(os.path.join(os.environ["SOAK_LEDGERS"], str(os.getpid())), "a", buffering=1)
def emit(line):
    os.write(channel, (line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\\n")
def rates(first=0, last=20):
    for k in range(first, last):
        emit({"task": "train", "rate": 100.0 + k, "units": "items/s", "rank": rank})
        ledger.write(f"{k}\\n")
"""
GOOD = EMIT + "rates()\n"
_DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"


@dataclass(frozen=True)
class Fault:
    """A program, and the truth about it.

    Args:
        program: its text, or what follows after its good rates.
        outcome: of its processes.
        reason: a regular expression that the reason matches.
        seconds: its ``max_duration``.
        torchrun: whether it is one torchrun over two ranks.
    """

    program: str
    outcome: str = "ok"
    reason: str = ""
    seconds: float = 120.0
    torchrun: bool = False


def _after(text: str, outcome: str = "ok", reason: str = "", seconds: float = 120.0) -> Fault:
    return Fault(GOOD + text, outcome, reason, seconds)


_TIMEOUT = r"max_duration"
FAULTS: Mapping[str, Fault] = {
    "good": _after(""),
    "raises": _after("raise ValueError('away')", "failed", "ValueError|exit status 1"),
    "exits-3": _after("sys.exit(3)", "failed", "exit status 3"),
    "killed": _after("os.kill(os.getpid(), signal.SIGKILL)", "failed", "killed by SIGKILL"),
    "aborts": _after("os.abort()", "failed", "SIGABRT"),
    "faults": _after("import ctypes; ctypes.string_at(0)", "failed", "SIGSEGV"),
    "hangs": _after("time.sleep(600)", "timeout", _TIMEOUT, 3),
    "spins": _after("while True: pass", "timeout", _TIMEOUT, 3),
    "stops": _after("os.kill(os.getpid(), signal.SIGSTOP)", "timeout", _TIMEOUT, 3),
    "deaf": _after(_DEAF, "timeout", _TIMEOUT, 3),
    "deaf-children": _after(
        f"for _ in range(5): subprocess.Popen([sys.executable, '-S', '-c', {_DEAF!r}],"
        f" start_new_session=True)\n{_DEAF}",
        "timeout", _TIMEOUT, 3,
    ),
    "bare-children": _after(
        f"for _ in range(5): subprocess.Popen([sys.executable, '-S', '-c', {_DEAF!r}],"
        " start_new_session=True, env={})"
    ),
    "bare-leader": _after(
        f"os.execve(sys.executable, [sys.executable, '-S', '-c', {_DEAF!r}], {{}})",
        "timeout", _TIMEOUT, 3,
    ),
    "daemons": _after(
        "if not os.fork():\n    os.setsid()\n    if not os.fork():\n        time.sleep(600)\n"
        "    os._exit(0)\nos.wait()"
    ),
    "forks": _after(  # a chain of processes, each of which ends once it has forked
        "for _ in range(300):\n    if os.fork():\n        os._exit(0)\n    time.sleep(0.005)\n"
    ),
    "floods-output": _after("for _ in range(200): print('x' * 40_000)\nrates(20, 25)"),
    "floods-errors": _after("for k in range(50_000): print(k, file=sys.stderr)\nrates(20, 25)"),
    "floods-metrics": _after("for k in range(20_000): emit({'step_ms': k})\nrates(20, 25)"),
    "never-ends-a-line": _after("sys.stdout.write('x' * 3_000_000)\nrates(20, 25)"),
    "garbage": _after(
        "for line in (b'\\xff', b'{', b'[1]', b'null', b'{\"rate\": \"x\", \"loss\": {}}',"
        " b'{\"rank\": 1' + b'0' * 400 + b'}', b'[' * 3000, b'{\"gpudata\": 5}',"
        " b'{\"x\": \"\\\\ud800\"}', b'{\"step_times\": [1]}'): emit(line)\nrates(20, 25)"
    ),
    "forges": _after(
        "for name in ('config', 'meta', 'start', 'end', 'line'):\n"
        "    emit({'$event': name, '$data': {'name': 'good', 'return_code': 0, 'outcome': 'lost',"
        " 'tag': ['good', 'D0']}})\nrates(20, 25)"
    ),
    "escapes": _after("emit({'$event': 'error', '$data': {'type': 'E', 'message':"
        " '\\x1b[2J\\nforged: ok'}})\nsys.exit(1)", "failed", "E: "),
    "stacks-are-fifos": _after(
        "signal.signal(signal.SIGRTMIN + 10, lambda *_: None)\n"
        "folder = os.environ['MILABENCH_STACKS']\n"
        "for name in (os.getpid(), '1.0.sigterm', 'a.b.sigterm'): os.mkfifo(f'{folder}/{name}')\n"
        "time.sleep(600)",
        "timeout", _TIMEOUT, 3,
    ),
    "runs-a-fifo": _after(
        "import faulthandler\nfolder = os.environ['MILABENCH_STACKS']\n"
        "os.mkfifo(f'{folder}/fifo')\n"
        "faulthandler.register(signal.SIGRTMIN + 10, open(f'{folder}/{os.getpid()}', 'w'))\n"
        "exec(compile('time.sleep(600)', f'{folder}/fifo', 'exec'))",
        "timeout", _TIMEOUT, 3,
    ),
    "name-is-no-text": _after(
        "import ctypes\nctypes.CDLL(None).prctl(15, b'\\xff) \\xfe', 0, 0, 0)\ntime.sleep(600)",
        "timeout", _TIMEOUT, 3,
    ),
    "measures-nothing": Fault(EMIT + "print('hello')", "failed", "told no rate"),
    "closes-all": _after("os.closerange(0, 64)\ntime.sleep(0.1)"),
    "loses-its-loss": _after("emit({'task': 'train', 'loss': float('nan')})", "failed", "NaN"),
}  # fmt: skip
_RANK = EMIT + "if rank == 0: rates()\n"
TORCHRUNS: Mapping[str, Fault] = {
    "ranks": Fault(_RANK, torchrun=True),
    "rank-killed": Fault(
        _RANK + "if rank: os.kill(os.getpid(), signal.SIGKILL)\ntime.sleep(600)",
        "failed", "rank 1.*SIGKILL", torchrun=True,
    ),
    "torchrun-killed": Fault(
        _RANK + "if not rank: os.kill(os.getppid(), signal.SIGKILL)\ntime.sleep(600)",
        "failed", "SIGKILL", torchrun=True,
    ),
    "rank-hangs": Fault(_RANK + "time.sleep(600)", "timeout", _TIMEOUT, 30, torchrun=True),
}  # fmt: skip
