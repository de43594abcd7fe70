"""Reads a page by the selectors of a desk file, for sites that no general method reads
well.
"""

from collections.abc import Sequence
from datetime import date, datetime
from html import escape

from lxml.etree import tostring
from lxml.html import HtmlElement

from news_assets.pipeline.page.fragment import markdown_of_fragment
from news_assets.records.desks import PageRule
from news_assets.sources.html.document import select, words_of
from news_assets.text.dates import parse_date

_MAX_TIMES = 10  # elements of a page that are looked at for its time


def rule_on(rules: Sequence[PageRule], day: date) -> PageRule | None:
    """Return the newest rule that holds for articles of a day."""
    holding = [rule for rule in rules if rule.since is None or rule.since <= day]
    return max(holding, key=lambda rule: rule.since or date.min, default=None)


def drop_removed(tree: HtmlElement, rule: PageRule) -> None:
    """Drop what `remove` matches from the tree, in place."""
    for element in select(tree, rule.remove) if rule.remove else ():
        if element.getparent() is not None:
            element.drop_tree()


def text_by_rule(tree: HtmlElement, rule: PageRule) -> str:
    """Return what `content` matches as Markdown, in the page's order; empty where it
    matches no text.
    """
    found = dict.fromkeys(select(tree, rule.content) if rule.content else ())
    outermost = [
        element
        for element in found
        if not any(other in found for other in element.iterancestors())
    ]
    return "\n\n".join(
        filter(
            None, (markdown_of_fragment(_inner_html(element)) for element in outermost)
        )
    )


def _inner_html(element: HtmlElement) -> str:
    """Return what is in an element; the text of a table's cell is no table."""
    return "".join(
        (
            escape(element.text or ""),
            *(tostring(child, encoding="unicode") for child in element),
        )
    )


def time_by_rule(tree: HtmlElement, rule: PageRule, timezone: str) -> datetime | None:
    """Return the first time in what `date` matches: of an attribute `datetime` or
    `content`, else of the text.
    """
    for element in select(tree, rule.date)[:_MAX_TIMES] if rule.date else ():
        stated = element.get("datetime") or element.get("content") or words_of(element)
        if found := parse_date(stated, timezone):
            return found
    return None
