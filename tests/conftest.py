"""What holds for all tests."""

import gc
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest

from milabench_ddp.hidden import SECRETS
from milabench_ddp.report import assemble
from milabench_ddp.report.comparison import compare
from milabench_ddp.report.comparison.comparison_model import Comparison
from milabench_ddp.report.history import history
from milabench_ddp.report.history.history import History
from milabench_ddp.report.model import Report
from milabench_ddp.report.prediction import predict
from tests.support import nvml_stub
from tests.support.package_copy import PackageCopy
from tests.support.report_schema import checked
from tests.support.workplace import Suite, Workplace

# A shell starts what it puts into the background with SIGINT ignored, and a script that a test
# starts cannot trap what it inherits so.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The runs of whoever runs the tests are none of the tests'.
os.environ.pop("MILABENCH_BASE", None)

# How long an example takes says how busy the machine is, not whether the example holds.
hypothesis.settings.register_profile(
    "patient", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
# Where a change is judged by its tests they must say the same each time; people look further.
hypothesis.settings.register_profile(
    "repeatable", hypothesis.settings.get_profile("patient"), derandomize=True
)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or "patient")

os.environ.pop("COLUMNS", None)  # a report is as wide as the terminal that says so


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that take long run where they are asked for."""
    if "slow" in config.option.markexpr:
        return
    slow = [item for item in items if item.get_closest_marker("slow")]
    config.hook.pytest_deselected(items=slow)
    items[:] = [item for item in items if item not in slow]


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """All tests and what they import stay: no collection of garbage has to visit them."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _checked_documents() -> Iterator[None]:
    """All that a test makes which has a published schema is as this says."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assemble, "Report", checked("report", Report))
        patch.setattr(compare, "Comparison", checked("comparison", Comparison))
        patch.setattr(history, "History", checked("history", History))
        patch.setattr(predict, "predicted", checked("prediction", predict.predicted))
        yield


@pytest.fixture(autouse=True)
def _no_secrets() -> Iterator[None]:
    """A secret of one test is not a secret in the next."""
    yield
    SECRETS.forget()


@pytest.fixture
def package_copy(tmp_path: Path) -> PackageCopy:
    """A copy of the package, to which something is added in one file and one line."""
    return PackageCopy(tmp_path)


@pytest.fixture(scope="session")
def nvml_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the stub of NVML, for LD_LIBRARY_PATH; see ``tests/support/nvml_stub.py``."""
    return nvml_stub.build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def stub(nvml_library: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes GPUs behave as the statements say, for the real ``pynvml`` of this process."""
    nvml_stub.load(nvml_library, monkeypatch)

    def behave(*statements: str) -> None:
        monkeypatch.setenv("NVML_STUB", "; ".join(statements))

    behave()
    return behave


@pytest.fixture
def at(tmp_path: Path) -> Workplace:
    """The real command in a folder of its own."""
    return Workplace(tmp_path)


@pytest.fixture
def suite(at: Workplace) -> Suite:
    """Writes ``suite.yaml`` with a benchmark for each program given by name, and the programs."""

    def make(plan: str = "per_gpu", duration: float = 600, **programs: str) -> str:
        lines = []
        for name, text in programs.items():
            at.write(f"{name}.py", text)
            lines.append(
                f"{name}: {{program: {name}.py, plan: {{method: {plan}}}, "
                f"max_duration: {duration}, weight: 1}}"
            )
        at.write("suite.yaml", "\n".join(lines) + "\n")
        return "suite.yaml"

    return make
