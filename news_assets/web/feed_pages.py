"""The page of the feeds, and all of them as OPML."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from news_assets.desks.site_lists import opml_of_feeds
from news_assets.web.archive import Archive
from news_assets.web.facets import values_with
from news_assets.web.meeting_views import has_meetings
from news_assets.web.operations.query_actions import listed_queries
from news_assets.web.parameters import SearchAddress
from news_assets.web.phrases import language_of, translation

Render = Callable[..., Response]


@dataclass(frozen=True, slots=True)
class NamedFeed:
    """A feed with its name and the page of what it lists; paths on this server."""

    name: str
    page: str
    feed: str


class FeedPages:
    """Handlers; `render` makes a page of a template and values."""

    def __init__(self, archive: Archive, render: Render) -> None:
        self._archive = archive
        self._render = render

    def page(self, request: Request) -> Response:
        """Return the feeds of lists and themes, and where the others are."""
        themes = theme_feeds(self._archive, language_of(request))
        listed = list_feeds(self._archive)
        return self._render(request, "feeds.html", listed=listed, themes=themes)

    def opml(self, request: Request) -> Response:
        """Return the feeds of lists, themes and saved queries, for feed readers."""
        base, language = str(request.base_url).rstrip("/"), language_of(request)
        translate = translation(language)
        listed = list_feeds(self._archive)
        found = [NamedFeed(translate(one.name), one.page, one.feed) for one in listed]
        found += theme_feeds(self._archive, language)
        found += query_feeds(self._archive)
        feeds = [(one.name, base + one.feed, base + one.page) for one in found]
        return Response(opml_of_feeds("Feeds", feeds), media_type="text/x-opml")


def list_feeds(archive: Archive) -> list[NamedFeed]:
    """Return the feeds of whole lists, with English names."""
    found = [
        NamedFeed("Newest articles", "/search", "/search.atom"),
        NamedFeed("Stories", "/stories", "/stories.atom"),
        NamedFeed("Silently edited", "/changes", "/changes.atom"),
    ]
    found.append(NamedFeed("Fell silent", "/silences", "/silences.atom"))
    if has_meetings(archive):
        found.append(NamedFeed("Meetings", "/meetings", "/meetings.atom"))
    return found


def theme_feeds(archive: Archive, language: str) -> Sequence[NamedFeed]:
    """Return the feeds of the themes that articles have, by name."""
    values = values_with(archive, "theme", SearchAddress(), "", language)
    found = []
    for code, label, _ in values:
        address = SearchAddress(theme=code)
        found.append(NamedFeed(label, address.url(), address.url("/search.atom")))
    return found


def query_feeds(archive: Archive) -> list[NamedFeed]:
    """Return the feeds of the saved queries. Raises LakeError."""
    found = []
    for one in listed_queries(archive):
        address = one.address
        feed = address.url("/search.atom")
        found.append(NamedFeed(one.query.name, address.url(), feed))
    return found
