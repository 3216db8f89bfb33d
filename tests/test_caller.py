import json
import os
import subprocess
import sys

import pytest

PROGRAM = """
import json, os
from milabench_ddp.caller import restore_environment
restore_environment()
print(json.dumps(dict(os.environ)))
"""


@pytest.mark.parametrize("given", [{}, {"LC_CTYPE": "C"}, {"LC_CTYPE": "C.UTF-8"}])
def test_what_is_started_inherits_what_this_process_was_given(given: dict[str, str]) -> None:
    """Without a locale, Python gives itself one."""
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path), **given}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**environ, "_": "/bin/bash"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout) == environ
