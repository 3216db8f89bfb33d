"""Renders launches as a bash script that does the same as `run`, for hosts that have only bash.

No text of a configuration ends a word or a line of it: a word is quoted, and what cannot be seen is
written by its bytes, so that a terminal shows the script as bash reads it.

The script starts each process as `run` does, waits for it by its pid, goes on after a failure, and
then ends with 1. It has neither the check of the GPUs, nor the deadline, nor the start barrier of
`run`; its programs still measure the GPUs or fail.
"""

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from ..hidden import MARK, SECRETS
from ..visible import in_line
from .launch import Launch, Process

_REMEMBERED = 4096  # words: thousands of processes have the same, while no more secrets are known
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_VARIABLE = re.compile(r'"\$([A-Za-z_][A-Za-z0-9_]*)"')
# The variables that bash sets for itself, hides from programs, or refuses to set; those of the
# script, in small letters, which a caller may have, too.
_OWN = (
    "BASH BASHOPTS BASHPID BASH_ARGC BASH_ARGV BASH_ARGV0 BASH_COMMAND BASH_LINENO BASH_SOURCE "
    "BASH_SUBSHELL BASH_VERSINFO BASH_VERSION COLUMNS COMP_WORDBREAKS DIRSTACK EPOCHREALTIME "
    "EPOCHSECONDS EUID FUNCNAME GROUPS HISTCMD IFS LINENO LINES OLDPWD OPTERR OPTIND "
    "POSIXLY_CORRECT PPID PS1 PS2 PS4 PWD RANDOM SECONDS SHELLOPTS SHLVL SRANDOM UID "
    "failed fd folder given host metrics name own pair pid pids port signals status"
)

_PREAMBLE = """\
set -euo pipefail
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
failed=()

# Programs write metric lines to files beside this script, or here; `run` reads them from pipes.
folder=$PWD
[ -n "${SLURM_JOB_ID:-}" ] || [ ! -f "$0" ] || folder=$(cd "$(dirname "$0")" && pwd)
[ -w "$folder" ] || folder=$(mktemp -d)

# Programs get these variables as this script was given them: it has its own. They get no `_`.
own=({own})
given=()
while IFS= read -r -d '' pair; do
  for name in "${own[@]}"; do [[ $pair != "$name="* ]] || given+=("$pair"); done
done <"/proc/$$/environ"
# `run` lets these have their effect also where its caller ignores them, which bash alone cannot.
signals=--default-signal=INT,TERM,PIPE,CHLD,XFSZ
env "$signals" true 2>/dev/null || signals=--unset=_  # coreutils before 8.31

start() {  # become a program as `run` starts it: no signal ignored, no file open, its own session
  trap - INT QUIT
  [ -z "${SLURM_JOB_ID:-}" ] || trap '' USR2  # Slurm's warning would end it
  for fd in "/proc/$BASHPID/fd/"*; do
    fd=${fd##*/}
    [ "$fd" -le 2 ] || eval "exec $fd>&-"
  done
  local metrics=${MILABENCH_METRICS:-}
  [ -n "$metrics" ] || { metrics=$folder/$1; : >"$metrics"; }
  given+=("MILABENCH_METRICS=$metrics")
  shift
  exec setsid env "$signals" --unset=_ "${own[@]/#/--unset=}" -- "${given[@]}" "$@"
}
stop() {  # Ctrl-C does not reach the programs
  trap '' HUP INT TERM
  kill "${pids[@]}" 2>/dev/null || true
  wait
  exit 130
}
join() {  # wait for each process by its pid, and show these files; the last failure's status
  local status=0 pid
  for pid in "${pids[@]}"; do wait "$pid" || status=$?; done
  [ -n "${MILABENCH_METRICS:-}" ] || (cd "$folder" && cat -- "$@" 2>/dev/null) || true
  exit "$status"
}
"""

_NODES = """\
# For {nodes} nodes: start this script on each node with NODE_RANK=0, 1, ..., with MASTER_ADDR set
# to the first node, and with MASTER_PORT set to a free port on it; several jobs also use the
# ports after it. Without NODE_RANK, this machine runs all nodes.
on() { [ -z "${NODE_RANK:-}" ] || [ "$NODE_RANK" -eq "$1" ]; }
if [ -n "${NODE_RANK:-}" ]; then : "${MASTER_ADDR:?}" "${MASTER_PORT:?}"; fi
"""

_PORTS = """\
free_port() {
  {python} -c 'import socket; s = socket.socket(); s.bind(("", 0)); print(s.getsockname()[1])'
}
case ${MASTER_PORT:-0} in *[!0-9]*) echo "MASTER_PORT is not a number" >&2; exit 2 ;; esac
"""

_END = """
if [ "${#failed[@]}" -gt 0 ]; then echo "failed: ${failed[*]}" >&2; exit 1; fi
"""


def render(launches: Sequence[Launch], python: str, comments: Sequence[str] = ()) -> str:
    return "".join(parts(launches, python, comments))


def parts(launches: Sequence[Launch], python: str, comments: Sequence[str] = ()) -> Iterator[str]:
    nodes = max((launch.nodes for launch in launches), default=1)
    blocks = [f"{line}\n" for launch in launches for line in _block(launch, nodes > 1)]
    ports = _PORTS.replace("{python}", expanded(SECRETS.learn(python)))
    if any(launch.is_joint for launch in launches):
        blocks.insert(0, f"{ports}\n")
    yield "#!/usr/bin/env bash\n"
    for each in (*map(comment, comments), _PREAMBLE.replace("{own}", _OWN), *needs(blocks)):
        yield f"{each}\n"
    if nodes > 1:
        yield _NODES.replace("{nodes}", str(nodes)) + "\n"
    yield from blocks
    yield _END.removeprefix("\n")


def _block(launch: Launch, several: bool) -> Iterator[str]:
    name = launch.benchmark.name
    title = SECRETS.hide(name if launch.repeat is None else f"{name} R{launch.repeat}")
    yield 'echo "---"'
    yield f"echo {quoted(title)}"
    yield 'echo "===="'
    yield f"# `run` ends it after {launch.benchmark.max_duration:g} s"
    if launch.is_joint:
        # The first port: each job takes one, where its ranks meet.
        yield "host=${MASTER_ADDR:-127.0.0.1} port=${MASTER_PORT:-$(free_port)}"
    yield "time ("
    yield "  pids=()"
    yield "  trap stop HUP INT TERM"
    for name, value in SECRETS.learn(dict(launch.defaults)).items():
        yield f"  export {name}=${{{name}-{expanded(value)}}}"
    files = [quoted(f"{process.name}.metrics") for process in launch.processes]
    for process, file in zip(launch.processes, files, strict=True):
        where = ""
        for name, value in process.meeting("$host", f"$((port + {process.job}))").items():
            where += f'{name}="{value}" ' if "$" in value else f"{name}={value} "
        secrets, words = command(process)
        line = f"{secrets}start {file} {where}{words} & pids+=($!)"
        if several:
            line = f"if on {process.node}; then {line}; fi"
        yield f"  {line}"
    yield f"  join {' '.join(files)}"
    yield f") || failed+=({quoted(title)})\n"


def command(process: Process) -> tuple[str, str]:
    """One process: the variables of its secrets, and the words of ``env`` for all else."""
    words = []
    secrets = []
    for name, value in process.env.items():
        is_secret, word = _variable(name, value, SECRETS.version)
        if is_secret:
            secrets.append(f"{word} ")  # not on a command line, which all can see
        else:
            words.append(word)
    if "=" in process.argv[0]:  # env would take it for another variable
        words += ["nice", "-n", "0"]
    words.append(_words(process.argv, SECRETS.version))
    return "".join(secrets), " ".join(words)


@lru_cache(_REMEMBERED)
def _variable(name: str, value: str, _version: int) -> tuple[bool, str]:
    """Whether the value of a variable is a secret; and the variable as a word, or two."""
    ((name, value),) = SECRETS.learn({name: value}).items()
    word = expanded(value)
    if not _NAME.fullmatch(name):
        return False, expanded(f"{name}={value}")
    return bool(_VARIABLE.search(word)), f"{name}={word}"


@lru_cache(_REMEMBERED)
def _words(argv: Sequence[str], _version: int) -> str:
    return " ".join(map(expanded, SECRETS.learn(list(argv))))


def expanded(hidden: str) -> str:
    """A text whose secrets are hidden as one word, in which they come from their variables."""
    if "(hidden: " not in hidden:
        return quoted(hidden)
    known, words, begin = SECRETS.known, [], 0
    for found in MARK.finditer(hidden):
        if found[1] in known:  # otherwise it was written like this
            if text := hidden[begin : found.start()]:
                words.append(quoted(text))
            words.append(f'"${found[1]}"')
            begin = found.end()
    if begin < len(hidden) or not words:
        words.append(quoted(hidden[begin:]))
    return "".join(words)


def needs(lines: Iterable[str]) -> Iterator[str]:
    """What ends a script at once if the secret of one of its lines is not in the environment."""
    known = SECRETS.known
    if known:
        found = dict.fromkeys(name for line in lines for name in _VARIABLE.findall(line))
        for name in filter(known.__contains__, found):
            yield f': "${{{name}:?is a secret that this script does not have: set it}}"'


@lru_cache(_REMEMBERED)
def quoted(text: str) -> str:
    """A text as one word of bash, in one line."""
    if in_line(text) == text:
        return shlex.quote(text)
    characters = []
    for character in text:
        if character in "\\'":
            characters.append(f"\\{character}")
        elif in_line(character) == character:
            characters.append(character)
        else:
            characters += [f"\\x{byte:02x}" for byte in os.fsencode(character)]
    return f"$'{''.join(characters)}'"


def comment(text: str) -> str:
    """A text as a comment, which is one line and has no secret."""
    return f"# {in_line(SECRETS.hide_all(text))}"


def here_document(lines: Sequence[str], word: str) -> Iterator[str]:
    """``<<'WORD'``, the lines as they are, and the word that ends them: one that is not in them."""
    text = "\n".join(lines)
    while word in text:
        word += "_"
    yield f"<<'{word}'"
    yield text
    yield word


def within(prefix: Sequence[str], script: str) -> str:
    """The script, behind these words: in a container."""
    if not prefix:
        return script
    start, *body = here_document([script.rstrip()], "MILABENCH_INSIDE")
    line = f"exec {_words(tuple(prefix), SECRETS.version)} bash -s {start}"
    return "\n".join(["#!/usr/bin/env bash", *needs([line]), line, *body, ""])
