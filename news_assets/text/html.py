"""Converts markup of feeds and pages to plain text or to safe HTML."""

import html
import re
from functools import partial

import nh3

from news_assets.text.limits import clean_line, clean_text, most

_BLOCK = re.compile(
    r"<(?:/?(?:address|article|aside|blockquote|dd|div|dl|dt|fieldset|figcaption|figure|footer|h[1-6]|header|hr|li|main|nav"
    r"|ol|p|pre|section|table|td|th|tr|ul)|br)\b",
    re.IGNORECASE,
)
# Only tags known to HTML: `List<String>` and `a < b` are text.
_TAG = re.compile(
    r"<(?:!--|/?(?:a|abbr|acronym|address|area|article|aside|audio|b|base|big|blink|blockquote|body|br|button|canvas|center"
    r"|cite|code|col|colgroup|data|dd|del|details|dfn|div|dl|dt|em|embed|fieldset|figcaption|figure|font|footer|form|frame"
    r"|frameset|h[1-6]|head|header|hr|html|i|iframe|img|input|ins|kbd|label|legend|li|link|main|map|mark|math|meta|nav"
    r"|noscript|object|ol|optgroup|option|p|param|picture|pre|q|rp|rt|ruby|s|samp|script|section|select|small|source|span"
    r"|strike|strong|style|sub|summary|sup|svg|table|tbody|td|template|textarea|tfoot|th|thead|time|title|tr|track|tt|u|ul"
    r"|var|video|wbr)(?=[\s/>]))",
    re.IGNORECASE,
)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,30});")
_DROPPED_WITH_CONTENT = {
    "iframe",
    "noscript",
    "object",
    "script",
    "style",
    "template",
    "textarea",
    "title",
}
# parsing takes quadratic time in the depth: 0.3 s for so many nested tags, 30 s for ten
# times more
_MAX_TAGS = 10_000


def plain_text(markup: str) -> str:
    """Return the text of a piece of HTML on one line: tags and entities resolved,
    scripts dropped, spaces collapsed.

    Text that was escaped twice, as feed titles often are (`&amp;lt;b&amp;gt;`,
    `Caf&amp;eacute;`), is resolved twice. A `<` that does not open a tag is kept: "3 <
    4".
    """
    text = _cut(markup)
    for _ in range(2):
        if "<" in text and _TAG.search(text):
            text = _without_tags(text)
        if "&" not in text:
            break
        escaped, text = text, html.unescape(text)
        if text == escaped:
            break
        if not (_TAG.search(text) or _ENTITY.search(text)):
            break
    return clean_line(text)


def sanitize(markup: str, base: str | None = None) -> str:
    """Return HTML that is safe to show: no scripts, handlers, styles, forms or frames.

    Only http(s) and mailto links are kept. Relative links are made absolute if `base`
    is an address, else kept as they are.
    """
    clean = partial(
        nh3.clean,
        _cut(markup),
        clean_content_tags=_DROPPED_WITH_CONTENT,
        url_schemes={"http", "https", "mailto"},
    )
    if not base:
        return clean_text(clean(url_relative="pass_through")).strip()
    try:
        safe = clean(url_relative=("rewrite_with_base", base))
    except ValueError:  # nh3 rejects a base that is not a strict URL
        safe = clean(url_relative="pass_through")
    return clean_text(safe).strip()


def _without_tags(text: str) -> str:
    """Return text without tags, entities still escaped, with a space at block
    boundaries.
    """
    spaced = _BLOCK.sub(lambda match: f" {match[0]}", text)
    return nh3.clean(spaced, tags=set(), clean_content_tags=_DROPPED_WITH_CONTENT)


def _cut(markup: str) -> str:
    """Return the markup without control characters and lone surrogates, cut at the
    limits.
    """
    text = clean_text(markup[: most("markup")])
    if text.count("<") < _MAX_TAGS:
        return text
    return "<".join(text.split("<", _MAX_TAGS)[:_MAX_TAGS])
