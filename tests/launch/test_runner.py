"""One launch, from its command to its files."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from milabench_ddp.errors import RunDirError
from milabench_ddp.events import Data, Event, Outcome
from milabench_ddp.launch.inbox import Inbox
from milabench_ddp.launch.runner import Runner, Samples
from milabench_ddp.results.run_dir import RunDir
from milabench_ddp.results.write import Heading
from milabench_ddp.samples import Sample
from tests.support.launches import launch

RATE = """
import json, os
print(os.environ["MILABENCH_TRACES"], flush=True)
with open(os.environ["MILABENCH_METRICS"], "w") as channel:
    channel.write(json.dumps({"task": "train", "rate": 7.0, "units": "items/s"}) + "\\n")
"""


class Seen:
    """An onlooker; a sample of the monitor comes with the first rate that it sees."""

    def __init__(self, samples: Samples) -> None:
        self.events: list[Event] = []
        self._samples = samples

    def see(self, event: Event) -> None:
        self.events.append(event)
        if isinstance(event, Data) and "rate" in event.payload:
            self._samples(5.0, {0: Sample(load=0.5)})

    def tick(self) -> None:
        pass


@pytest.fixture
def inbox() -> Iterator[Inbox]:
    it = Inbox()
    yield it
    it.close()


def test_what_happens_is_seen_and_written(tmp_path: Path, inbox: Inbox) -> None:
    samples = Samples()
    seen = Seen(samples)
    runner = Runner(RunDir(tmp_path), Heading("r", "cpu", {}), samples, os.environ, 1.0)
    end = runner.run(launch(RATE), inbox, seen)
    assert (end.outcome, end.processes[0].rates) == (Outcome.OK, 1)
    text = (tmp_path / "b.D0.data").read_text()
    assert text.count('"rate": 7.0') == 1
    assert text.count('"gpudata"') == 1  # also one that came when all was over
    assert (tmp_path / "b.D0.stdout").read_text() == f"{tmp_path / 'b'}\n"
    samples(6.0, {0: Sample(load=0.5)})  # nobody's any more
    assert list(inbox.take()) == []


def test_a_folder_that_is_gone_is_an_error_and_nothing_runs(tmp_path: Path, inbox: Inbox) -> None:
    mark = tmp_path / "ran"
    rundir = RunDir(tmp_path / "gone")
    runner = Runner(rundir, Heading("r", "cpu", {}), Samples(), os.environ, 1.0)
    with pytest.raises(RunDirError, match="No such file"):
        runner.run(launch(f"open({str(mark)!r}, 'w')"), inbox, Seen(Samples()))
    assert not mark.exists()
