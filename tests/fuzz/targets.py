"""What is fuzzed. A new target is one line here."""

from collections.abc import Mapping

from hypothesis import strategies as st

from tests.fuzz import conditions, configurations, messages, run_folders, scripts, told_lines
from tests.fuzz.engine import Target

TARGETS: Mapping[str, Target] = {
    "configuration": Target(
        "`dry` prints a script that bash can read, or one message; it executes nothing",
        configurations.cases, configurations.check, 250,
    ),
    "condition": Target(
        "a condition is what Python makes of it, or a ConfigError",
        conditions.conditions, conditions.check_condition, 2500,
    ),
    "placeholder": Target(
        "a text is filled part by part, whatever stands beside a placeholder",
        conditions.parts, conditions.check_parts, 1000,
    ),
    "filled tree": Target(
        "values of any shape are filled, or there is a ConfigError",
        conditions.trees, conditions.check_tree, 1000,
    ),
    "metric lines": Target(
        "all good rates of a program are read, and its lines change nothing of others",
        told_lines.cases, told_lines.check, 60,
    ),
    "run folder": Target(
        "no face of a broken run fails, and what is broken is named",
        run_folders.seeds, run_folders.check, 40,
    ),
    "bash": Target(
        "each program gets its words and variables to the byte, and nothing else is executed",
        scripts.asked, scripts.check_bash, 60,
    ),
    "sbatch": Target(
        "the same on a node of Slurm; its options are those asked for, or refused",
        scripts.submitted, scripts.check_sbatch, 50,
    ),
    "agent message": Target(
        "what is no message is passed over, and each good one arrives",
        st.lists(messages.lines, max_size=4), messages.check, 800,
    ),
}  # fmt: skip
