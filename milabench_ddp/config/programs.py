"""Whether a benchmark's program can be run as the benchmark says, told without running it."""

import os
from collections.abc import Iterator
from pathlib import Path

from ..errors import did_you_mean, shown_names
from ..visible import in_line
from .benchfile import module_of, program_of, why_no_program
from .mistakes import Apart, MistakeError, keep
from .sources import functions_of, options_of, probes_of, words_of
from .tree import ListNode, MappingNode, Origin, TreeNode, is_file, shown, text_of


def check_program(entry: MappingNode, presets: MappingNode, *, must_exist: bool) -> None:
    """Check the program of a benchmark, its options and its voirfile.

    A missing `definition` is not a mistake: milabench's suites name folders of other machines.
    """
    program, stated = program_of(entry), entry.get("program")
    if program is None:
        return
    if why := why_no_program(entry):
        if stated and must_exist:
            beside = filter(Path.is_file, program.parent.glob(f"*{program.suffix}"))
            hint = did_you_mean(program.name, (each.name for each in beside))
            keep(MistakeError(f"{why}{hint}", stated.origin))
        return
    if instrument := entry.get("instrument"):
        with Apart():
            _check_voirfile(program, entry, instrument.origin)
    elif stated and program.suffix != ".py" and not os.access(program, os.X_OK):
        hint = f"`chmod +x {shown(program)}`, or give it the suffix .py for Python"
        said = f"`program` in {stated.origin}: {shown(program)} is not executable: {hint}"
        keep(MistakeError(said, stated.origin))
    if stated and program.suffix == ".py":
        layers = [each for each in presets.entries.values() if isinstance(each, MappingNode)]
        # A preset that disables it may have the options of others, by a template.
        off = [each.get("enabled") for each in layers if each.scalar("enabled") is False]
        for layer in (entry, *layers):
            if layer.get("enabled") not in off:
                _check_options(program, layer.get("argv"))


def _check_voirfile(program: Path, entry: MappingNode, origin: Origin) -> None:
    voirfile = program.with_name("voirfile.py")
    if module_of(entry):
        raise MistakeError(f"`instrument` in {origin}: voir runs no package", origin)
    if not is_file(voirfile) and "VOIRFILE" not in entry.mapping("env").entries:
        hint = "`milabench new NAME --voir` writes an example"
        said = f"`instrument: voir` in {origin} needs {shown(voirfile)}, which is not there: {hint}"
        raise MistakeError(said, origin)
    for place, probe, function, variable in probes_of(voirfile):
        for kind, name, known in (
            ("function", function, functions_of(program)),
            ("variable", variable or function, words_of(program)),
        ):
            if name not in known:
                where, hint = f"probe `{probe}` in {place}", did_you_mean(name, known)
                said = f"{where}: {shown(program)} has no {kind} `{name}`{hint}"
                keep(MistakeError(said, place))


def _check_options(program: Path, argv: TreeNode | None) -> None:
    words = [(word, node.origin) for word, node in _options(argv) if word.startswith("--")]
    known = options_of(program) if words else frozenset()
    for word, origin in words if known else ():
        name = in_line(word.partition("=")[0])
        positive = name.replace("--no-", "--", 1)  # a switch that is turned off
        # argparse takes the beginning of an option, too
        if "{" not in name and not any(each.startswith((name, positive)) for each in known):
            hint = (
                did_you_mean(name, known - {"--help"})
                or f": it has {shown_names(sorted(known), 30)}"
            )
            said = f"option `{name}` in {origin}: {shown(program)} has no such option{hint}"
            keep(MistakeError(said, origin, name))


def _options(argv: TreeNode | None) -> Iterator[tuple[str, TreeNode]]:
    if isinstance(argv, MappingNode):
        yield from argv.without("--").entries.items()
        argv = argv.get("--")
    for item in argv.items if isinstance(argv, ListNode) else ():
        word = text_of(item) or ""
        if word == "--":  # what follows is positional
            return
        yield word, item
