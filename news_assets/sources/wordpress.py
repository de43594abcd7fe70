"""WordPress sites by their REST API: one page of posts in, a Listing out.

Follows the published reference (developer.wordpress.org/rest-api/reference/posts and .../using-the-rest-api/pagination,
global-parameters); no site's answer was saved here. The number of pages stands in a header only (X-WP-TotalPages), so a
page as full as was asked names the next one, and the API's own "no such page" is the end. Asking for one page too many
is answered with status 400. Which posts are asked for (categories, another post type) is the source's address.
"""

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from news_assets.errors import ListingChangedError
from news_assets.records import ListedEntry, Listing, Page, Source
from news_assets.sources.entries import fallback_id, storable, unique
from news_assets.sources.feeds.json_feed import decoded_json
from news_assets.text.dates import parse_date
from news_assets.text.html import plain_text, sanitize
from news_assets.text.urls import web_url

MAX_PER_PAGE = 100  # more is refused with rest_invalid_param
_ASKED: Final = {
    "per_page": str(MAX_PER_PAGE),
    "orderby": "date",
    "order": "desc",
    "_embed": "author,wp:featuredmedia,wp:term",
}
_NO_SUCH_PAGE: Final = "rest_post_invalid_page_number"
_POSTS: Final = "/wp/v2/posts"
_ROUTE = re.compile(r"/wp-json(?P<route>/.*)?$")
_DEAD_END = re.compile(r"\s*(?:\[(?:…|\.{3})\]|…)$")  # what WordPress puts where it cuts an excerpt

Object = Mapping[str, Any]


def first_url(source: Source) -> str:
    """Return the address of the newest posts, made of a site's address or of one that names its API already.

    `https://example.org/blog` gives `https://example.org/blog/wp-json/wp/v2/posts?per_page=100&...`; another route
    (`/wp-json/wp/v2/noticias`, `?rest_route=/wp/v2/posts`) and parameters of its own (`categories=5`) stay.
    """
    return _posts_url(source.url)


def day_url(source: Source, day: date) -> str:
    """Return the address of the posts of one day in the source's zone.

    `after` and `before` exclude their own moment, so the day begins one second before midnight. They are given in
    UTC, since a time without a zone is read in the zone the site is set to.
    """
    begin, end = _midnight(day, source), _midnight(day + timedelta(days=1), source)
    bounds = {"after": begin - timedelta(seconds=1), "before": end}
    return _with(_posts_url(source.url), {name: f"{at:%Y-%m-%dT%H:%M:%SZ}" for name, at in bounds.items()})


def _midnight(day: date, source: Source) -> datetime:
    return parse_date(day.isoformat(), source.timezone) or datetime.combine(day, time(), UTC)


def parse(page: Page, source: Source) -> Listing:
    """Return the posts of one page, newest first, with their full text; the page after a full one as `next_urls`.

    Times are `date_gmt` and `modified_gmt`; where they are missing, the site's local ones in `source.timezone`. A page
    behind the last one is an empty listing. A post without an address is left out with a problem.

    Raises:
        ListingChangedError: A page, a log-in form, a closed or missing API, or other JSON in place of posts.
        SourceError: Nothing, or JSON that cannot be read.
    """
    document = decoded_json(page, "answer of the WordPress API")
    if isinstance(document, dict) and document.get("code") == _NO_SUCH_PAGE:
        return Listing(entries=())
    if not isinstance(document, list):
        raise ListingChangedError(f"{page.url}: {_refusal_of(document)}")
    posts = [post for post in document if isinstance(post, dict) and ("link" in post or "guid" in post)]
    if document and not posts:
        raise ListingChangedError(f"{page.url}: a JSON list without a single post of WordPress")
    lost = len(document) - len(posts)
    return storable(
        Listing(
            entries=tuple(_entry(post, page, source) for post in posts),
            next_urls=_next_urls(page, len(document)),
            problems=(f"{lost} of {len(document)} are no posts: skipped",) if lost else (),
        )
    )


def _refusal_of(document: Any) -> str:
    code = _string(document, "code")
    if not code:
        return "JSON that is no list of posts"
    return f"the WordPress API refuses: {code}: {plain_text(_string(document, 'message'))[:200]}"


# --- addresses -------------------------------------------------------------------------------------------------------


def _posts_url(url: str) -> str:
    parts = urlsplit(url)
    path, pairs = parts.path, parse_qsl(parts.query)
    if "rest_route" not in dict(pairs):
        route = _ROUTE.search(path)
        if route is None:
            path = re.sub(r"/(?:index\.php)?$", "", path) + "/wp-json" + _POSTS
            pairs = []  # of a site's own page; the API has other parameters
        elif (route["route"] or "/").rstrip("/") in ("", "/wp/v2"):
            path = path[: route.start()] + "/wp-json" + _POSTS
    own = dict(pairs)
    changes = {name: value for name, value in _ASKED.items() if name not in own}
    if "per_page" in own:
        changes["per_page"] = str(_per_page(own))
    return _with(urlunsplit((parts.scheme, parts.netloc, path, urlencode(pairs), "")), changes)


def _per_page(query: Mapping[str, str]) -> int:
    text = query.get("per_page", "")
    return min(max(int(text), 1), MAX_PER_PAGE) if re.fullmatch(r"[0-9]{1,4}", text) else MAX_PER_PAGE


def _with(url: str, changes: Mapping[str, str]) -> str:
    """Return the address with these parameters, in the place of those of the same name where there are such."""
    parts = urlsplit(url)
    pairs = parse_qsl(parts.query)
    own = {name for name, _ in pairs}
    changed = [(name, changes.get(name, value)) for name, value in pairs]
    query = urlencode([*changed, *(pair for pair in changes.items() if pair[0] not in own)], safe=",:/")
    return urlunsplit((parts.scheme, parts.netloc, parts.path, query, ""))


def _next_urls(page: Page, count: int) -> tuple[str, ...]:
    """Return the address of the next page where this one is full."""
    url = _posts_url(page.url)
    query = dict(parse_qsl(urlsplit(url).query))
    if count < _per_page(query):
        return ()
    text = query.get("page", "1")
    number = int(text) if re.fullmatch(r"[0-9]{1,6}", text) else 1
    return (_with(url, {"page": str(number + 1)}),)


# --- one post --------------------------------------------------------------------------------------------------------


def _entry(post: Object, page: Page, source: Source) -> ListedEntry:
    guid = plain_text(_rendered(post, "guid"))
    link = _sound(_string(post, "link")) or guid
    url = web_url(link, page.final_url) if link else None
    title = plain_text(_rendered(post, "title")) or None
    content = _rendered(post, "content")
    embedded = post.get("_embedded")
    embedded = embedded if isinstance(embedded, dict) else {}
    terms = [term for group in _list(embedded, "wp:term") if isinstance(group, list) for term in group]
    return ListedEntry(
        entry_id=guid or fallback_id(url, title, content),
        url=url or "",
        title=title,
        summary=_DEAD_END.sub("", plain_text(_rendered(post, "excerpt"))) or None,
        content_html=sanitize(content, url or page.final_url) or None if content else None,
        authors=unique(plain_text(_string(author, "name")) for author in _list(embedded, "author")),
        categories=unique(plain_text(_string(term, "name")) for term in terms),
        image_url=_image_url(post, embedded, page),
        published_at=_time(post, "date", source),
        updated_at=_time(post, "modified", source),
    )


def _image_url(post: Object, embedded: Object, page: Page) -> str | None:
    """Return the featured image; Jetpack's field where the site embeds no media."""
    links = [_string(media, "source_url") for media in _list(embedded, "wp:featuredmedia")]
    urls = (
        web_url(_sound(link), page.final_url) for link in (*links, _string(post, "jetpack_featured_media_url")) if link
    )
    return next(filter(None, urls), None)


def _time(post: Object, name: str, source: Source) -> datetime | None:
    in_utc = parse_date(_string(post, f"{name}_gmt"), "UTC")
    return in_utc or parse_date(_string(post, name), source.timezone)


def _rendered(post: Object, name: str) -> str:
    """Return `{"rendered": "..."}` or a plain string, as plug-ins write it."""
    value = post.get(name)
    return _string(value, "rendered") if isinstance(value, dict) else _string(post, name)


def _string(owner: Any, name: str) -> str:
    value = owner.get(name) if isinstance(owner, dict) else None
    return value.strip() if isinstance(value, str) else ""


def _list(owner: Object, name: str) -> list[Any]:
    value = owner.get(name)
    return value if isinstance(value, list) else []


def _sound(text: str) -> str:
    """Return the text without halves of surrogate pairs, which JSON can write and nothing can store."""
    return text.encode("utf-8", "ignore").decode()
