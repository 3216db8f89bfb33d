"""What every JSON document of the report begins with."""

from dataclasses import dataclass
from typing import Annotated, Literal

from ... import __version__
from ...codec import about


@dataclass(frozen=True, kw_only=True)
class Document:
    """A document with a published schema; all fields are always there.

    ``schema`` is raised by every change that a reader of the document before it could stumble over.
    """

    schema: Annotated[Literal[1], about("the version of the document's schema")] = 1
    milabench: Annotated[str, about("the version of milabench that made it")] = __version__
