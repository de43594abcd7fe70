"""WordPress sites, read through their REST API.

Follows the published reference (developer.wordpress.org/rest-api/reference/posts and
.../using-the-rest-api/pagination, global-parameters); no site's response was saved
here. The number of pages is only in a header (X-WP-TotalPages), so every full page
names a next one, and the API's "no such page" error (status 400) ends the listing. The
source's address selects the posts (categories, another post type).
"""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from news_assets.errors import ListingChangedError
from news_assets.records.desks import Source
from news_assets.records.reading import ListedEntry, Listing, Page
from news_assets.sources.platforms import decoded_json, string_of
from news_assets.sources.storable_entries import (
    fallback_id,
    first_web_url,
    optional_url,
    or_none,
    problem_if,
    sanitized,
    storable,
    unique,
)
from news_assets.text.dates import parse_date
from news_assets.text.html import plain_text

_MAX_PER_PAGE = 100  # the API refuses more with rest_invalid_param
_PARAMETERS: Final = {
    "per_page": str(_MAX_PER_PAGE),
    "orderby": "date",
    "order": "desc",
    "_embed": "author,wp:featuredmedia,wp:term",
}
_JETPACK_IMAGE: Final = "jetpack_featured_media_url"
_NO_SUCH_PAGE: Final = "rest_post_invalid_page_number"
_POSTS: Final = "/wp/v2/posts"
_ROUTE = re.compile(r"/wp-json(?P<route>/.*)?$", re.DOTALL)
_CUT_MARKER = re.compile(r" ?(?:\[(?:…|\.{3})\]|…)$")  # where WordPress cuts an excerpt

_Object = Mapping[str, Any]


def first_url(source: Source) -> str:
    """Return the API address of the newest posts, from a site's address or from one of
    its API.

    `https://example.org/blog` gives
    `https://example.org/blog/wp-json/wp/v2/posts?per_page=100&...`; another route
    (`/wp-json/wp/v2/noticias`, `?rest_route=/wp/v2/posts`) and its own parameters
    (`categories=5`) are kept.
    """
    return _posts_url(source.url)


def day_url(source: Source, day: date) -> str:
    """Return the address of the posts of one day in the source's zone.

    `after` and `before` are exclusive, so `after` is one second before midnight. Both
    are in UTC, because WordPress reads a time without a zone in the site's own zone.
    """
    begin = _midnight(day, source)
    end = _midnight(day + timedelta(days=1), source)
    bounds = {"after": begin - timedelta(seconds=1), "before": end}
    return _with(
        _posts_url(source.url),
        {name: f"{at:%Y-%m-%dT%H:%M:%SZ}" for name, at in bounds.items()},
    )


def _midnight(day: date, source: Source) -> datetime:
    local = parse_date(day.isoformat(), source.timezone)
    if local is None:
        return datetime.combine(day, time(), UTC)
    return local


def _posts_in(document: list[Any], page: Page) -> list[Any]:
    """Return the posts of a list. Raises ListingChangedError where it has only others."""
    posts = [post for post in document if _is_post(post)]
    if document and not posts:
        raise ListingChangedError(f"{page.url}: a JSON list without any WordPress post")
    return posts


def parse(page: Page, source: Source) -> Listing:
    """Return the posts of one page, newest first, with full text; after a full page
    `next_urls` has the next one.

    Times are `date_gmt` and `modified_gmt`; if they are missing, the local ones in
    `source.timezone`. A page after the last one gives an empty listing. A post without
    an address is dropped with a problem.

    Raises:
        ListingChangedError: An HTML page, a log-in form, a closed or missing API, or
            other JSON.
        SourceError: The document is empty, or its JSON is broken.
    """
    document = decoded_json(page, source, "a response of the WordPress API")
    if isinstance(document, dict) and document.get("code") == _NO_SUCH_PAGE:
        return Listing(entries=())
    if not isinstance(document, list):
        raise ListingChangedError(f"{page.url}: {_refusal_of(document)}")
    posts = _posts_in(document, page)
    lost = len(document) - len(posts)
    problem = f"{lost} of {len(document)} items are not posts: skipped"
    listing = Listing(
        entries=tuple(_entry(post, page, source) for post in posts),
        next_urls=_next_urls(page, len(document)),
        problems=problem_if(lost, problem),
    )
    return storable(listing)


def _is_post(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    if "link" in value:
        return True
    return "guid" in value


def _refusal_of(document: Any) -> str:
    code = string_of(document, "code")
    if not code:
        return "JSON that is not a list of posts"
    return f"the WordPress API answered {code}: {plain_text(string_of(document, 'message'))[:200]}"


# --- addresses ------------------------------------------------------------------------


def _posts_url(url: str) -> str:
    parts = urlsplit(url)
    pairs = parse_qsl(parts.query)
    own = dict(pairs)
    path = parts.path
    if "rest_route" not in own:
        path = _posts_path(parts.path)
        if _ROUTE.search(parts.path) is None:
            pairs, own = [], {}  # parameters of the site's page mean nothing to the API
    changes = {name: value for name, value in _PARAMETERS.items() if name not in own}
    if "per_page" in own:
        changes["per_page"] = str(_per_page(own))
    address = urlunsplit((parts.scheme, parts.netloc, path, urlencode(pairs), ""))
    return _with(address, changes)


def _posts_path(path: str) -> str:
    """Return the path of the API's posts on a site; a path of another route stays."""
    route = _ROUTE.search(path)
    if route is None:
        return re.sub(r"/(?:index\.php)?$", "", path) + "/wp-json" + _POSTS
    if (route["route"] or "").rstrip("/") in ("", "/wp/v2"):
        return path[: route.start()] + "/wp-json" + _POSTS
    return path


def _per_page(query: Mapping[str, str]) -> int:
    text = query.get("per_page", "")
    if re.fullmatch(r"[0-9]{1,4}", text):
        return min(max(int(text), 1), _MAX_PER_PAGE)
    return _MAX_PER_PAGE


def _with(url: str, changes: Mapping[str, str]) -> str:
    """Return the address with these parameters set; an existing one keeps its position."""
    parts = urlsplit(url)
    added = dict(changes)
    pairs = []
    for name, value in parse_qsl(parts.query):
        pairs.append((name, changes.get(name, value)))
        added.pop(name, None)
    query = urlencode([*pairs, *added.items()], safe=",:/")
    return parts._replace(query=query, fragment="").geturl()


def _next_urls(page: Page, count: int) -> tuple[str, ...]:
    """Return the address of the next page if this one is full."""
    url = _posts_url(page.url)
    query = dict(parse_qsl(urlsplit(url).query))
    if count < _per_page(query):
        return ()
    text = query.get("page", "1")
    number = int(text) if re.fullmatch(r"[0-9]{1,6}", text) else 1
    return (_with(url, {"page": str(number + 1)}),)


# --- one post -------------------------------------------------------------------------


def _entry(post: _Object, page: Page, source: Source) -> ListedEntry:
    guid = plain_text(_rendered(post, "guid"))
    url = optional_url(string_of(post, "link") or guid, page.final_url)
    title = or_none(plain_text(_rendered(post, "title")))
    content = _rendered(post, "content")
    embedded = post.get("_embedded")
    if not isinstance(embedded, dict):
        embedded = {}
    excerpt = plain_text(_rendered(post, "excerpt"))
    return ListedEntry(
        entry_id=guid or fallback_id(url, title, content),
        url=url or "",
        title=title,
        summary=or_none(_CUT_MARKER.sub("", excerpt)),
        content_html=sanitized(content, url or page.final_url),
        authors=_names(_list(embedded, "author")),
        categories=_names(_terms(embedded)),
        image_url=_image_url(post, embedded, page),
        published_at=_time(post, "date", source),
        updated_at=_time(post, "modified", source),
    )


def _terms(embedded: _Object) -> list[Any]:
    """Return categories and tags, which stand in a list each."""
    terms: list[Any] = []
    for group in _list(embedded, "wp:term"):
        if isinstance(group, list):
            terms += group
    return terms


def _names(values: Iterable[Any]) -> tuple[str, ...]:
    names = [string_of(value, "name") for value in values]
    return unique(map(plain_text, names))


def _image_url(post: _Object, embedded: _Object, page: Page) -> str | None:
    media = _list(embedded, "wp:featuredmedia")
    links = [string_of(one, "source_url") for one in media]
    links.append(string_of(post, _JETPACK_IMAGE))
    return first_web_url(links, page.final_url)


def _time(post: _Object, name: str, source: Source) -> datetime | None:
    in_utc = parse_date(string_of(post, f"{name}_gmt"), "UTC")
    if in_utc is not None:
        return in_utc
    return parse_date(string_of(post, name), source.timezone)


def _rendered(post: _Object, name: str) -> str:
    """Return the text of `{"rendered": "..."}`, or a plain string, which some plug-ins
    write.
    """
    value = post.get(name)
    if isinstance(value, dict):
        return string_of(value, "rendered")
    return string_of(post, name)


def _list(owner: _Object, name: str) -> list[Any]:
    value = owner.get(name)
    if isinstance(value, list):
        return value
    return []
