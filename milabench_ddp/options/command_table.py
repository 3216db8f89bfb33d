"""The commands, in groups. ``milabench --help`` loads nothing else, so this imports nothing."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_OF_RUNS = """\
exit codes:
  0    every benchmark ended ok and measured something, but skipped ones
  1    a benchmark did not, the run has not ended, or there is a finding of --fail-on
  2    wrong usage or configuration, or runs that cannot be pooled
  130  the run was cancelled, or this command was interrupted
"""
_OF_NODES = """\
exit codes:
  0    all nodes pass
  1    a node fails, or there is a finding of --fail-on
  2    wrong usage or configuration
  3    no node fails, but of some it cannot be told
  130  the run was cancelled, or this command was interrupted
"""
_OF_CHANGES = """\
exit codes:
  0    all was read, whatever is slower, unless --fail-on says otherwise
  1    --fail-on slower found something
  2    wrong usage, no run there, or runs that cannot be pooled
  130  this command was interrupted
"""
_OF_CHECKS = """\
exit codes:
  0    nothing is in the way of a run; there may be warnings
  1    there is an error
  2    wrong usage or configuration
"""
_OF_RUN = """\
examples:
  milabench run ddp --select resnet50,@gpt    some benchmarks of a shipped suite
  milabench run ddp --repeat 5 --name before  five launches of each, to compare
  milabench run sweeps/small --runner slurm --partition train --nodes 4,2,1
"""
_OF_VALIDATE = """\
examples:
  milabench validate --runner slurm --nodes 'node[1-8]' --name today
  milabench run ddp --runner slurm --nodes 4 --exclude-nodes @runs/today/failing_nodes.txt
"""
_OF_REPORT = """\
examples:
  milabench report latest                     the newest run
  milabench report latest --table ranks       one table
  milabench report latest~1 --open            the run before it, in a browser
"""
_OF_NEW = """\
examples:
  milabench new mine && milabench run mine.yaml
  milabench new mine --voir                   measure a script that you do not change
"""
_OF_COMPLETION = """\
examples:
  source <(milabench completion bash)         in ~/.bashrc, or zsh in ~/.zshrc
  milabench completion fish | source          in ~/.config/fish/config.fish
"""


class Command:
    """A command: the record of its options, below ``options``, and what its help says."""

    def __init__(
        self, record: str, help: str, examples: str = "", exit_codes: str = "", *, main: str = ""
    ) -> None:
        self.record, self.help = record, help
        self.examples, self.exit_codes = examples, exit_codes
        self.main = main  # the function below ``commands``; ``main`` of its own module without it

    def options(self) -> "type[Any]":
        from importlib import import_module

        module, name = self.record.split(".")
        found: type[Any] = getattr(import_module(f".{module}", __package__), name)
        return found


GROUPS = {
    "measure": {
        "run": Command("suite.RunOptions", "run a suite and report on it", _OF_RUN, _OF_RUNS),
        "list": Command("suite.ListOptions", "list suites, or the benchmarks of one"),
        "dry": Command("suite.LaunchOptions", "print the bash that `run` would execute"),
        "resolve": Command("suite.ResolveOptions", "print the resolved configuration"),
    },
    "read what was measured": {
        "runs": Command("reading.RunsOptions", "list runs, the newest first, or remove old ones"),
        "report": Command(
            "reading.ReportOptions", "report on the measurements in run folders",
            _OF_REPORT, _OF_RUNS,
        ),
        "compare": Command(
            "reading.CompareOptions", "say what is slower, faster or the same in other runs",
            exit_codes=_OF_CHANGES,
        ),
        "history": Command(
            "reading.HistoryOptions", "tell what got slower over many runs, also single GPUs",
            exit_codes=_OF_CHANGES,
        ),
        "serve": Command("reading.ServeOptions", "show reports and runs that go on in the browser"),
        "export": Command("reading.ExportOptions", "write the measurements as tables"),
    },
    "on a cluster": {
        "validate": Command(
            "suite.ValidateOptions", "say which nodes pass, which fail, and why",
            _OF_VALIDATE, _OF_NODES,
        ),
        "watch": Command(
            "reading.RunFolderOptions", "follow a run that has not ended, and report when it ends",
            exit_codes=_OF_RUNS,
        ),
        "cancel": Command("reading.RunFolderOptions", "cancel a run's jobs", main="watch.cancel"),
    },
    "set up": {
        "new": Command("new.NewOptions", "write a benchmark of your own to begin with", _OF_NEW),
        "doctor": Command(
            "suite.DoctorOptions", "check what a run on this machine needs, and say what to do",
            exit_codes=_OF_CHECKS,
        ),
        "install": Command(
            "suite.InstallOptions", "make the virtual environments that benchmarks need",
            main="prepare.install",
        ),
        "prepare": Command("suite.SuiteOptions", "make the data that benchmarks read"),
        "completion": Command(
            "completion.CompletionOptions", "print the script that completes words in your shell",
            _OF_COMPLETION,
        ),
    },
}  # fmt: skip
COMMANDS = {name: command for group in GROUPS.values() for name, command in group.items()}


def help_text() -> str:
    groups = ""
    for title, commands in GROUPS.items():
        lines = [f"  {name:12}{command.help}\n" for name, command in commands.items()]
        groups += f"{title}:\n{''.join(lines)}\n"
    return f"""\
usage: milabench COMMAND ...

How fast do your GPUs really train?

{groups}examples:
  milabench run ddp                 measure this machine
  milabench report latest           report on the newest run
  milabench dry ddp --gpus 8        print the bash that `run` would execute

milabench COMMAND --help explains a command; milabench --version tells the version.
"""
