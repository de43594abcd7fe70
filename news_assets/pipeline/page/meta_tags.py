"""Reads a page's meta tags."""

from lxml.html import HtmlElement

MetaTags = dict[str, list[str]]

_MAX_CONTENTS = 100  # of one name: a tag for each keyword
_MAX_CHARS = 10_000  # longer than any list of keywords


def meta_tags(tree: HtmlElement) -> MetaTags:
    """Return the contents of the meta tags by property or name in lower case, in order."""
    found: MetaTags = {}
    for tag in tree.iter("meta"):
        content = (tag.get("content") or "").strip()
        name = tag.get("property") or tag.get("name") or tag.get("itemprop") or tag.get("http-equiv")
        if content and name:
            stated = found.setdefault(name.strip().lower(), [])
            if len(stated) < _MAX_CONTENTS:
                stated.append(content[:_MAX_CHARS])
    return found


def contents(meta: MetaTags, *names: str) -> list[str]:
    """Return the contents of the named tags, in the order of the names."""
    return [content for name in names for content in meta.get(name, ())]
