"""How to measure mine.py: the rate at which ``train`` sets its variable ``batch``."""

from dataclasses import dataclass

import torch
from voir.instruments import early_stop, log, rate
from voir.tools import configurable


@dataclass
class Options:
    """What mine.yaml may set, as ``voir: {options: {...}}``."""

    # observations before the script is stopped
    stop: int = 60
    # seconds of an observation
    interval: str = "0.1s"
    # observations of the warm-up
    skip: int = 5


@configurable
def instrument_main(ov, options: Options):
    """Send the rates of the loop, and stop once there are enough."""
    yield ov.phases.init
    sync = torch.cuda.synchronize if torch.cuda.is_available() else None
    ov.require(
        log("rate", "units", context=["task"]),
        rate(interval=options.interval, skip=options.skip, sync=sync),
        early_stop(n=options.stop, key="rate", task="train"),
    )
    yield ov.phases.load_script
    ov.probe("//train > batch").augment(task=lambda: "train").give()
