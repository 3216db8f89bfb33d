"""A page other than the report's: the result in a few words, and sections below."""

from collections.abc import Mapping, Sequence

from .frame import html_page
from .markup import Html, tag


def sections_page(
    title: str,
    badges: Sequence[Html],
    head: Sequence[tuple[str, str]],
    sections: Mapping[str, Sequence[Html]],
) -> str:
    """The page.

    Args:
        title: of the page.
        badges: the results, in a few words each; see ``badge``.
        head: facts above the sections, each with its title.
        sections: their contents by their headings; empty ones are left out.
    """
    facts = []
    for name, said in head:
        facts += [tag("dt", name), tag("dd", said)]
    shown = []
    for heading, inside in sections.items():
        if inside:
            shown.append(tag("section", tag("h2", heading), *inside))
    body = [
        tag("h1", title),
        tag("div", *badges, class_="strip"),
        tag("dl", *facts, class_="run"),
        tag("main", *shown),
    ]
    return html_page(title, body)


def badge(text: str, kind: str) -> Html:
    """A few words in the colour of their kind: error, good, quiet or warning."""
    return tag("strong", text, class_=f"badge {kind}")


def bullets(sentences: Sequence[str]) -> list[Html]:
    """Sentences as a list; empty if there are none."""
    return [tag("ul", *(tag("li", each) for each in sentences))] if sentences else []
