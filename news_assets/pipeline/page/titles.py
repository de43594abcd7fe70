"""Finds the title of an article among its headings, what the page states, and
`<title>`.

A heading that another form of the title confirms precedes what is stated for machines,
which precedes `<title>`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from urllib.parse import unquote, urlsplit

from lxml.html import HtmlElement

from news_assets.pipeline.page.headings import (
    MIN_UNSTATED_WORDS,
    PARAGRAPHS,
    Heading,
    headings_of,
    line_above,
    titled_texts,
)
from news_assets.pipeline.page.site_names import (
    SITE,
    TitledPage,
    places_of,
    without_places,
    without_site,
)
from news_assets.pipeline.page.stated import contents
from news_assets.pipeline.page.title_words import (
    MAX_CHARS,
    MIN_WORDS,
    SEPARATOR,
    SLUG_BREAK,
    Words,
    agree,
    agreement_of,
    long_words,
    words_in,
    words_in_text,
    words_of,
)
from news_assets.text.html import plain_text

SECTION = ("article:section",)
_SAME = 0.6  # of all words of a lower heading and another form of the title
_SURE = 0.8  # from here on a lower heading precedes an h1


def titles_of(page: TitledPage, sections: Iterable[str]) -> list[str]:
    """Return the forms of the title, best first; names of the site are last."""
    raw = [plain for text in _texts(page) if (plain := plain_text(text)[:MAX_CHARS])]
    titles = without_places(
        raw, places_of(page.url, contents(page.meta, *SITE), sections)
    )
    return sorted(titles, key=page.is_site)


def _texts(page: TitledPage) -> Iterator[str]:
    """Yield agreeing headings, what is stated, `<title>`, and headings that nothing
    confirms.
    """
    stated = [
        without_site(text, page.meta) for text in page.stated if not page.is_site(text)
    ]
    headings = headings_of(page, stated)
    confirmed = [*_confirmed(page, headings), *stated]
    if page.listed and _is_only_listed(page.listed, confirmed, page.tree):
        yield page.listed
    yield from confirmed
    head = without_site(page.head, page.meta)
    if not confirmed:
        yield from _unconfirmed(headings, page.tree) or line_above(page)
    yield head
    yield from page.stated


def _confirmed(page: TitledPage, headings: Iterable[Heading]) -> list[str]:
    """Return the headings that agree with another form of the title, best first."""
    longest = max(SEPARATOR.split(plain_text(page.head)), key=len)
    known = (
        text for text in (*page.stated, longest, page.head) if not page.is_site(text)
    )
    slug = unquote(urlsplit(page.url).path).rstrip("/").rpartition("/")[2]
    texts = [*known, page.listed or "", SLUG_BREAK.sub(" ", slug)]
    others = list(filter(None, map(words_of, texts)))
    agreeing = list(_agreeing(headings, others))
    if not any(one.agreement >= _SURE for one in agreeing):
        agreeing += _agreeing(titled_texts(page), others)
    return [one.text for one in sorted(agreeing, key=lambda one: one.rank)]


def _is_only_listed(listed: str, others: Iterable[str], tree: HtmlElement) -> bool:
    """Whether the listed title is on the page, and has no word in common with the
    page's other titles.
    """
    words, own = words_in(listed), long_words(listed)
    if len(words) < MIN_WORDS or any(own & long_words(other) for other in others):
        return False
    shown = words_in_text(" ".join(tree.itertext()))
    return f" {' '.join(words)} " in f" {' '.join(shown)} "


def _agreeing(
    headings: Iterable[Heading], others: Sequence[Words]
) -> Iterator[Heading]:
    for heading in headings:
        words = words_of(heading.text)
        agreement = max((agreement_of(words, other) for other in others), default=0.0)
        is_near = heading.level == 1 and any(agree(words, other) for other in others)
        if is_near or agreement >= _SAME:
            yield replace(heading, agreement=agreement)


def _unconfirmed(headings: Sequence[Heading], tree: HtmlElement) -> list[str]:
    """Return the highest of the headings above the first paragraph that are long enough
    for titles.
    """
    paragraph = next(iter(PARAGRAPHS(tree)), None)
    above = set(paragraph.xpath("preceding::*")) if paragraph is not None else None
    long = [one for one in headings if len(words_in(one.text)) >= MIN_UNSTATED_WORDS]
    near = [one for one in long if above is None or one.element in above] or long
    return [one.text for one in sorted(near, key=lambda one: one.level)][:1]
