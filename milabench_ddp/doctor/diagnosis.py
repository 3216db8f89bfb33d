"""What the checks of ``milabench doctor`` find."""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from functools import partial
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from ..errors import reason_of
from ..in_time import in_time


class State(StrEnum):
    """The worst is first."""

    ERROR = "error"
    WARNING = "warning"
    OK = "ok"


class Diagnosis(Struct, frozen=True):
    """What works, or does not."""

    state: State
    found: str
    advice: str = ""  # what to do
    check: str = ""  # its name


Check = Callable[[], Iterable[Diagnosis]]
error, warning, ok = (partial(Diagnosis, state) for state in State)


def examine(checks: Mapping[str, Check], limit: float) -> list[Diagnosis]:
    """What the checks find, in their order; all run at the same time, for ``limit`` seconds."""

    def examined(name: str) -> list[Diagnosis]:
        try:
            found = in_time(lambda: list(checks[name]()), limit)
        except TimeoutError:
            found = [warning(f"not known: the check has not ended after {limit:.0f} s")]
        except OSError as raised:
            found = [error(f"{raised.filename}: {raised.strerror}")]
        except Exception as raised:  # noqa: BLE001 - the others go on after any error
            found = [error(reason_of(raised))]
        return [replace(each, check=name) for each in found]

    with ThreadPoolExecutor(len(checks)) as pool:
        return list(chain.from_iterable(pool.map(examined, checks)))
