import ast
import os
import subprocess
import sys
from pathlib import Path

import milabench_ddp

PACKAGE = Path(milabench_ddp.__file__).parent
COUNT = """
import os, subprocess
from milabench_ddp.numerics import np
np.zeros(1)
child = subprocess.run(["sh", "-c", "echo ${OPENBLAS_NUM_THREADS-none}"], stdout=subprocess.PIPE)
print(len(os.listdir("/proc/self/task")), child.stdout.decode().strip())
print("OPENBLAS_NUM_THREADS" in os.environ)
"""


def told(**environ: str) -> list[str]:
    """Its number of threads; what its children and its programs see of OpenBLAS's variable."""
    command = [sys.executable, "-c", COUNT]
    environ = {k: v for k, v in os.environ.items() if k != "OPENBLAS_NUM_THREADS"} | environ
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_numpy_starts_no_thread_and_programs_do_not_notice():
    assert told() == ["1", "none", "False"]


def test_who_asks_for_threads_gets_them():
    assert told(OPENBLAS_NUM_THREADS="2")[1:] == ["2", "True"]


def test_polars_has_one_thread_and_programs_do_not_notice():
    code = (
        "import os; from milabench_ddp.numerics import pl; print(pl.thread_pool_size()); "
        "print(pl.DataFrame({'a': [1]}).select(pl.col('a').sum()).item(), flush=True); "
        "os.execlp('sh', 'sh', '-c', 'echo ${POLARS_MAX_THREADS-none}')"
    )
    environ = {k: v for k, v in os.environ.items() if k != "POLARS_MAX_THREADS"}
    command = [sys.executable, "-c", code]
    assert subprocess.check_output(command, env=environ, text=True).split() == ["1", "1", "none"]


def test_all_that_loads_numpy_loads_it_there():
    for path in PACKAGE.rglob("*.py"):
        if path.name == "numerics.py" or "shipped" in path.parts:
            continue
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
                node.body = []
        for node in ast.walk(tree):
            match node:
                case ast.Import(names=names):
                    assert not {name.name for name in names} & {"numpy", "polars"}, path
                case ast.ImportFrom(module=str(module)):
                    assert module.partition(".")[0] not in ("numpy", "polars"), path


def test_numpy_is_loaded_at_its_first_use():
    found = "import sys; from milabench_ddp.numerics import np; print('numpy' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", found], text=True).strip() == "False"
