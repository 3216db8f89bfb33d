"""What is fuzzed: a new target is one line here, and its check states its law."""

from collections.abc import Mapping

from hypothesis import strategies as st

from tests.fuzz import (
    conditions,
    configurations,
    many_lines,
    messages,
    run_folders,
    scripts,
    told_lines,
)
from tests.fuzz.engine import Target

TARGETS: Mapping[str, Target] = {
    "configuration": Target(configurations.cases, configurations.check, 250),
    "condition": Target(conditions.conditions, conditions.check_condition, 2500),
    "placeholder": Target(conditions.parts, conditions.check_parts, 1000),
    "filled tree": Target(conditions.trees, conditions.check_tree, 1000),
    "metric lines": Target(told_lines.cases, told_lines.check, 60),
    "many lines": Target(many_lines.files, many_lines.check, 150),
    "run folder": Target(run_folders.seeds, run_folders.check, 40),
    "bash": Target(scripts.asked, scripts.check_bash, 60),
    "sbatch": Target(scripts.submitted, scripts.check_sbatch, 50),
    "agent message": Target(st.lists(messages.lines, max_size=4), messages.check, 800),
}
