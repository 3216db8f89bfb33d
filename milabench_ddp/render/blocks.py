"""What a document is made of: a format lays out each kind of block in its own way, or skips it."""

from collections.abc import Iterable

from msgspec import Struct

from ..table import Table


class Headline(Struct, frozen=True):
    """What a document is about, and a sentence on it; the sentence can be empty."""

    title: str
    text: str = ""


class Fact(Struct, frozen=True):
    """A name and what there is to say under it, in one or several texts."""

    name: str
    texts: tuple[str, ...]


class Line(Struct, frozen=True):
    """A paragraph; in text its first line begins with ``first``, the others with ``rest``."""

    text: str
    first: str = ""
    rest: str | None = None  # None: as many blanks as ``first`` is wide


class Caption(Struct, frozen=True):
    """The title of what stands right below it."""

    text: str


class Bullet(Struct, frozen=True):
    """A sentence of a list."""

    text: str


class Findings(Struct, frozen=True):
    """Sentences of one kind, and what to do about it."""

    label: str  # such as their severity; empty for notes
    sentences: tuple[str, ...]
    advice: str = ""
    in_columns: bool = False  # in text two sentences stand side by side, and long ones are cut


class TableBlock(Struct, frozen=True):
    """A table, with its title and its notes."""

    table: Table
    stay: tuple[str, ...] = ()  # columns, in the order in which they stay where few have room
    is_ruled: bool = False  # in text, by dashes below its header, and not between columns


class Code(Struct, frozen=True):
    """Lines as a program wrote them."""

    lines: tuple[str, ...]


class Section(Struct, frozen=True):
    """Blocks that belong together; without any of them the section is left out."""

    inside: "Iterable[Block]"
    title: str = ""


class Fold(Struct, frozen=True):
    """Blocks that a reader opens by their title; text leaves them out."""

    title: str
    inside: "Iterable[Block]"


Simple = Headline | Fact | Line | Caption | Bullet | Findings
Block = Simple | TableBlock | Code | Section | Fold
