"""Whether a benchmark's program can be run as the benchmark says, told without running it."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from ..errors import did_you_mean, shown_names
from .benchfile import module_of, program_of, why_no_program
from .mistakes import Apart, MistakeError
from .sources import names_in, options_of, probes_of, source_of
from .tree import ListNode, MappingNode, Origin, TreeNode, is_file, shown, text_of


def check_program(entry: MappingNode, presets: MappingNode, *, must_exist: bool) -> None:
    """Check the program of a benchmark, its options and its voirfile.

    What a folder `definition` lacks is no mistake: milabench's suites name many that are elsewhere.

    Args:
        entry: the benchmark, with absolute paths.
        presets: what each of its presets states.
        must_exist: whether the program that it names has to be on this host.

    Raises ConfigError.
    """
    program, stated = program_of(entry), entry.get("program")
    if program is None:
        return
    if why := why_no_program(entry):
        if stated is not None and must_exist:
            with Apart():
                beside = [each.name for each in program.parent.glob(f"*{program.suffix}")]
                alike = (name for name in beside if abs(len(name) - len(program.name)) < 3)
                hint = did_you_mean(program.name, alike)
                raise MistakeError(f"{why}{hint}", stated.origin)
        return
    instrument = entry.get("instrument")
    if instrument is not None:
        _check_voirfile(program, entry, instrument.origin)
    elif program.suffix != ".py" and not os.access(program, os.X_OK) and stated is not None:
        with Apart():
            raise MistakeError(
                f"`program` in {stated.origin}: {shown(program)} is not executable: "
                f"`chmod +x {shown(program)}`, or give it the suffix .py for Python",
                stated.origin,
            )
    if program.suffix == ".py":
        layers = (each for each in presets.entries.values() if isinstance(each, MappingNode))
        for layer in (entry, *layers):
            if layer is entry or layer.scalar("enabled") is not False:  # it may be for a template
                _check_options(program, layer.get("argv"))


def _check_voirfile(program: Path, entry: MappingNode, origin: Origin) -> None:
    voirfile, env = program.with_name("voirfile.py"), entry.mapping("env")
    with Apart():
        if module_of(entry):
            raise MistakeError(f"`instrument` in {origin}: voir runs no package", origin)
        if "VOIRFILE" not in env.entries and not is_file(voirfile):
            raise MistakeError(
                f"`instrument: voir` in {origin} needs {shown(voirfile)}, which is not there: "
                "`milabench new NAME --voir` writes an example",
                origin,
            )
    script = source_of(program)
    if script is None:
        return
    for probe in probes_of(voirfile):
        place = Origin(os.fspath(voirfile), probe.line, probe.column)
        where = f"probe `{probe.text}` in {place}: {shown(program)}"
        functions, variables = names_in(script), names_in(script, probe.function)
        with Apart():
            if probe.function not in functions:
                hint = did_you_mean(probe.function, functions)
                raise MistakeError(f"{where} has no function `{probe.function}`{hint}", place)
            if probe.variable and variables and probe.variable not in variables:
                hint = did_you_mean(probe.variable, variables)
                said = f"{where} sets no variable `{probe.variable}` in `{probe.function}`{hint}"
                raise MistakeError(said, place)


def _check_options(program: Path, argv: TreeNode | None) -> None:
    words = [(word, node.origin) for word, node in _options(argv) if word.startswith("--")]
    known = options_of(program) if words else frozenset()
    for word, origin in words if known else ():
        name = word.partition("=")[0]
        if not any(each.startswith(name) for each in known):  # argparse takes a beginning, too
            with Apart():
                usual = sorted(each for each in known if not each.startswith("--no-"))
                hint = did_you_mean(name, usual) or f": it has {shown_names(usual, 30)}"
                said = f"option `{name}` in {origin}: {shown(program)} has no such option{hint}"
                raise MistakeError(said, origin, name)


def _options(argv: TreeNode | None) -> Iterator[tuple[str, TreeNode]]:
    """The words of a command line that may be options, each with its node."""
    match argv:
        case MappingNode(entries):
            yield from ((key, node) for key, node in entries.items() if key != "--")
            argv = entries.get("--")
    items: Iterable[TreeNode] = argv.items if isinstance(argv, ListNode) else ()
    for item in items:
        word = text_of(item) or ""
        if word == "--":  # what follows is positional
            return
        yield word, item
