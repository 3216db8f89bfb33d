"""What torch's flight recorder dumped for a rank."""

import os
import pickle
from pathlib import Path

import pytest

from milabench_ddp.launch.flight_recorder import collectives_begun
from tests.support.result_files import RECORDED

DUMPS = f"{RECORDED}/flight_recorder.rank"  # by PyTorch 2.15, after three all-reduces of rank 1


def test_a_dump_of_torch() -> None:
    assert collectives_begun(DUMPS, 1, since=0.0) == 3
    assert collectives_begun(DUMPS, 0, since=0.0) is None


def test_the_dump_of_an_earlier_launch() -> None:
    written = Path(f"{DUMPS}1").stat().st_mtime
    assert collectives_begun(DUMPS, 1, since=written + 1.0) is None


@pytest.mark.parametrize("dump", [b"", b"no pickle", pickle.dumps([1]), pickle.dumps({})])
def test_what_is_no_dump(tmp_path: Path, dump: bytes) -> None:
    (tmp_path / "fr.rank0").write_bytes(dump)
    assert collectives_begun(f"{tmp_path}/fr.rank", 0, since=0.0) is None


def test_a_dump_starts_nothing(tmp_path: Path) -> None:
    made = tmp_path / "made"
    (tmp_path / "fr.rank0").write_bytes(b"cos\nsystem\n(S'touch %s'\ntR." % os.fsencode(made))
    assert collectives_begun(f"{tmp_path}/fr.rank", 0, since=0.0) is None
    assert not made.exists()


def test_a_fifo_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fr.rank0")
    assert collectives_begun(f"{tmp_path}/fr.rank", 0, since=0.0) is None


@pytest.mark.parametrize("number", [-1, 1 << 63, 10**400, "9" * 5000])
def test_a_number_that_no_rank_reaches(tmp_path: Path, number: object) -> None:
    dump = {"pg_status": {"0": {"last_enqueued_collective": number}}}
    (tmp_path / "fr.rank0").write_bytes(pickle.dumps(dump))
    assert collectives_begun(f"{tmp_path}/fr.rank", 0, since=0.0) is None
