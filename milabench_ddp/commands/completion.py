"""``milabench completion``: the script of a shell, and the words that it asks for."""

import os
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields

from ..config.shipped import find_shipped, shipped_files, shipped_suites
from ..config.tree import default_base
from ..options.command_table import COMMANDS
from ..options.completion import CompletionOptions
from ..options.option import arguments
from ..results.find_run import newest_first, run_folders

SCRIPTS = {
    "bash": """\
_milabench() {
    local IFS=$'\\n' line=${COMP_LINE:0:COMP_POINT}
    COMPREPLY=($(COMP_WORDBREAKS=$COMP_WORDBREAKS milabench completion bash "$line" 2>/dev/null))
}
complete -o default -F _milabench milabench
""",
    "zsh": """\
#compdef milabench
_milabench() {
    local -a found
    found=("${(@f)$(milabench completion zsh "${(j: :)words[1,CURRENT]}" 2>/dev/null)}")
    if [[ -n $found[1] ]]; then compadd -a found; else _files; fi
}
compdef _milabench milabench
""",
    "fish": """\
function __milabench
    set -l found (milabench completion fish (commandline -cp | string collect) 2>/dev/null)
    test -n "$found"; and printf '%s\\n' $found; or __fish_complete_path (commandline -ct)
end
complete -c milabench -f -a '(__milabench)'
""",
}


def main(options: CompletionOptions) -> int:
    if not options.line:
        sys.stdout.write(SCRIPTS[options.shell])
        return 0
    *before, last = options.line.lstrip().split(" ")
    # Bash replaces only what is behind these characters; a word that begins with @, all of it.
    breaks = os.environ.get("COMP_WORDBREAKS", " ").replace("@", "")
    begin = 1 + max(map(last.rfind, breaks), default=-1)
    for word in candidates([word for word in before if word], last):
        print(word[begin:])
    return 0


def candidates(before: Sequence[str], last: str) -> list[str]:
    """The words that begin as the last one does, which may be empty; of ``a,b`` ``b`` goes on."""
    begin = last[: 1 + max(last.rfind(","), last.find("=") if last[:2] == "--" else -1)]
    if begin.endswith("="):
        before = [*before, begin[:-1]]
    found = _known(before, last)
    return [begin + word for word in found if word.startswith(last[len(begin) :])]


def _known(before: Sequence[str], last: str) -> Iterable[str]:
    if len(before) < 2 or before[1] not in COMMANDS:
        return (*COMMANDS, "--help", "--version")
    declared = fields(COMMANDS[before[1]].options())
    known = {name: keywords for each in declared for name, keywords in arguments(each).items()}
    flag, keywords = before[-1], known.get(before[-1], {"action": "store_true"})
    if not flag.startswith("-") or keywords.get("action") in ("store_true", "store_const"):
        positional = [each.name for each in declared if each.metadata["is_positional"]]
        if last.startswith("-") or not positional:
            return [name for name in (*known, "--help") if name not in positional]
        keywords = known[positional[0]]
    if "choices" in keywords:
        return tuple(keywords["choices"])
    words = WORDS.get(flag) or WORDS.get(keywords.get("metavar", ""))
    return words(before) if words else ()


def _runs(_before: Sequence[str]) -> Iterable[str]:
    names = [path.name for path in newest_first(run_folders([default_base() / "runs"]))]
    # The shell inserts a name as it is: one that needs quotes would be several words, or a command
    return ("latest", *(name for name in names if name != "runs" and shlex.quote(name) == name))


def _benchmarks(before: Sequence[str]) -> Iterable[str]:
    from ..config.load import SuiteRequest, selectable  # takes as long as all else

    configs = (w for w in before[2:] if w.endswith(".yaml") or find_shipped("config", w))
    return selectable(SuiteRequest(next(configs, "")))


def _tables(_before: Sequence[str]) -> Iterable[str]:
    from ..report.sweeps.metrics import EFFICIENCY, METRICS
    from ..report.tables import REPORT_TABLES, TABLES

    return sorted({EFFICIENCY, *METRICS, *TABLES, *REPORT_TABLES})


# By the flag, or else by the placeholder in the help.
WORDS: Mapping[str, Callable[[Sequence[str]], Iterable[str]]] = {
    "--select": _benchmarks,
    "--exclude": _benchmarks,
    "--preset": lambda _before: ("auto", "full", "small"),
    "--runner": lambda _before: shipped_files("runners"),
    "--table": _tables,
    "CONFIG": lambda _before: shipped_suites(),
    "RUN": _runs,
    "A": _runs,
    "B": _runs,
}
