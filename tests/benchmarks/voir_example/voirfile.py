"""How to measure train.py: the rate of ``batches``, by probing its variable ``batch``."""

from dataclasses import dataclass

from voir.instruments import early_stop, log, rate
from voir.tools import configurable


@dataclass
class Options:
    """What a configuration may set, as ``voir: {options: {...}}``."""

    # observations before the program is stopped
    stop: int = 20
    # steps in an observation, or seconds as "0.2s"
    interval: str = "0.05s"


@configurable
def instrument_main(ov, options: Options):
    """Send the rates of the loop, and stop once there are enough."""
    yield ov.phases.init
    ov.require(
        log("rate", "units", "progress", context=["task"]),
        rate(interval=options.interval),
        early_stop(n=options.stop, key="rate", task="train"),
    )
    yield ov.phases.load_script
    ov.probe("//batches > batch").augment(task=lambda: "train").give()
