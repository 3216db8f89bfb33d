"""Signals to a command at any moment: what the process says, and how it ends."""

import signal
import subprocess
import sys

import pytest

from milabench_ddp.interrupts import ending_signals, signal_name

# Runs the command line, and sends this process a signal when the module NAME is imported.
AT_IMPORT = """
import os, sys
class Sends:
    def find_spec(self, name, path=None, target=None):
        if name == NAME:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), NUMBER)
sys.meta_path.insert(0, Sends())
"""
# In the midst of a command.
IN_COMMAND = """
import os, sys, types
def main(options):
    try: SENDS
    finally: print("undone", flush=True)
    return 0
name = "milabench_ddp.commands.list"
sys.modules[name] = types.ModuleType(name)
sys.modules[name].main = main
"""
# When Python ends.
AT_EXIT = "import atexit, os\natexit.register(os.kill, os.getpid(), NUMBER)\n"
# A job in the background may have been started with some signals ignored.
DEFAULT = "import signal\nsignal.signal(NUMBER, signal.SIG_DFL)\n"
IN_A_MOMENT = "os.kill(os.getpid(), NUMBER); sys.stdin.read()"
TWICE = "os.kill(os.getpid(), NUMBER)\n    except KeyboardInterrupt: os.kill(os.getpid(), NUMBER)"


def run(before: str, number: int, *words: str) -> tuple[int, str, str]:
    """The exit code and the output of the command line; first this Python is executed."""
    default = "" if number == signal.SIGINT else DEFAULT.replace("NUMBER", str(int(number)))
    start = "import sys\nfrom milabench_ddp.__main__ import main\nsys.exit(main())\n"
    text = default + before.replace("NUMBER", str(int(number))) + start
    command = [sys.executable, "-c", text, *(words or ["list", "ddp"])]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        out, err = process.communicate()
    return process.returncode, out, err


@pytest.mark.parametrize(
    "name",
    ["milabench_ddp.interrupts", "milabench_ddp.cli", "argparse", "milabench_ddp.commands.list"],
)
def test_ctrl_c_while_python_imports(name: str) -> None:
    code, _, err = run(AT_IMPORT.replace("NAME", repr(name)), signal.SIGINT)
    assert (code, err) == (130, "")


@pytest.mark.parametrize("sends", [IN_A_MOMENT, TWICE])
def test_ctrl_c_while_a_command_works(sends: str) -> None:
    code, out, err = run(IN_COMMAND.replace("SENDS", sends), signal.SIGINT)
    assert (code, err) == (130, "")
    assert out == ("undone\n" if sends is IN_A_MOMENT else "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1, signal.SIGQUIT, signal.SIGXCPU])
def test_other_signals_undo_what_was_begun(number: int) -> None:
    code, out, err = run(IN_COMMAND.replace("SENDS", IN_A_MOMENT), number)
    assert (code, out, err) == (128 + number, "undone\n", "")


def test_a_second_signal_does_not_change_how_it_ends() -> None:
    sends = "os.kill(os.getpid(), NUMBER)\n    finally: os.kill(os.getpid(), NUMBER)\n    try: pass"
    code, out, err = run(IN_COMMAND.replace("SENDS", sends), signal.SIGTERM)
    assert (code, out, err) == (128 + signal.SIGTERM, "", "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_other_signals_when_all_is_done_change_nothing(number: int) -> None:
    code, out, err = run(AT_EXIT, number, "list", "ddp", "--device", "cpu")
    assert (code, err) == (0, "")
    assert "ddp" in out


def test_a_signal_while_a_run_reports_ends_it_as_ctrl_c_does() -> None:
    """Its benchmarks have ended, and their results are on disk."""
    before = f"""
import os, sys
from milabench_ddp.commands import run
run._create = lambda options: [type("Context", (), {{"close": lambda self: None}})()]
def reports(context, options): {IN_A_MOMENT}
run._run = reports
"""
    code, _, err = run(before, signal.SIGTERM, "run", "ddp")
    assert (code, err) == (130, "")


def test_ctrl_c_when_all_is_done() -> None:
    code, out, err = run(AT_EXIT, signal.SIGINT, "list", "ddp", "--device", "cpu")
    assert (code, err) == (130, "")
    assert "ddp" in out


def test_where_ctrl_c_is_ignored_it_stays_so() -> None:
    """As of what a script starts in the background."""
    ignored = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    sends = "os.kill(os.getpid(), NUMBER)"
    code, out, err = run(ignored + IN_COMMAND.replace("SENDS", sends), signal.SIGINT)
    assert (code, out) == (0, "undone\n"), err


def test_the_signals_that_end_a_process() -> None:
    before = signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    names = {signal_name(number) for number in ending_signals()}
    signal.signal(signal.SIGQUIT, before)
    assert {"SIGTERM", "SIGQUIT", "SIGUSR1", "SIGXCPU", "SIGRTMAX"} <= names
    assert not {"SIGKILL", "SIGSTOP", "SIGCHLD", "SIGTSTP", "SIGSEGV", "SIGINT"} & names
    assert signal_name(signal.SIGRTMIN + 1) == f"signal {signal.SIGRTMIN + 1}"
