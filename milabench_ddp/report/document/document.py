"""What every JSON document of the report begins with, and how records are filled from others."""

from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal, TypeVar

from ... import __version__
from ...codec import about

Filled = TypeVar("Filled")


@dataclass(frozen=True, kw_only=True)
class Document:
    """A document with a published schema; all fields are always there.

    ``schema`` is raised by every change that a reader of the document before it could stumble over.
    """

    schema: Annotated[Literal[1], about("the version of the document's schema")] = 1
    milabench: Annotated[str, about("the version of milabench that made it")] = __version__


def filled(kind: type[Filled], source: object, **others: object) -> Filled:
    """A record of this type, whose fields have the values of the same name in another object.

    Args:
        kind: a dataclass.
        source: the other object.
        others: the fields that are not taken from it.
    """
    made: Any = kind
    names = [field.name for field in fields(made) if field.name not in others]
    values = {name: getattr(source, name) for name in names}
    return made(**values, **others)  # type: ignore[no-any-return]
