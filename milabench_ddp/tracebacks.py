"""How Python's tracebacks look on stderr, those of a rank too, and what torchrun adds to them."""

import re

TRACEBACK = "Traceback (most recent call last):"
FRAME = re.compile(r'^  File ".*", line \d+')
RAISED = re.compile(r"^[A-Za-z_][\w.]*(?::|$)")  # the exception, in the line behind the frames
GROUP = re.compile(r"^ +\| ")  # before the lines of an ExceptionGroup, deeper for its parts
OF_RANK = re.compile(r"^\[[a-z]+(\d+)\]:(.*)$")  # PyTorch's [rank1], torchrun's [default1]
LAUNCHER_LOG = re.compile(
    r"^(?:[IWE]\d{4} .* torch/distributed/|\[\d{4}-\d\d-\d\d .*\] torch\.distributed\.)"
)
LAUNCHER_ERROR = re.compile(r"^torch\.distributed\.elastic\.multiprocessing\.errors\.")
# torchrun's message when a signal ended it: the sender of the signal has recorded the reason
LAUNCHER_STOPPED = re.compile(
    r"^torch\.distributed\.elastic\.multiprocessing\.api\.SignalException: Process \d+ got signal"
)
