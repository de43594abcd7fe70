"""What the pages of an article show: its versions, what is said at a glance, its main
image, and the texts that its publisher replaced, as a list and as entries of a feed.

Each version has an address to cite that leads to the same text for as long as the
archive keeps it. Images are fetched through the checked fetcher, so that browsers
request nothing from other sites.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final
from urllib.parse import parse_qsl, urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from news_assets.errors import FetchError
from news_assets.ports.services import Fetcher, PageRequest, Reader
from news_assets.records.articles import ArticleRevision, RawArticle
from news_assets.store.queries.changes import Edit, newest_edits
from news_assets.text.fingerprint import normal_words
from news_assets.text.words import words
from news_assets.web.answers import ArticleView, Part, part_of
from news_assets.web.archive import Archive, revision_and_successor, revision_number
from news_assets.web.forms import Entry
from news_assets.web.markup import word_diff
from news_assets.web.parameters import (
    ArticleAddress,
    EditParameters,
    ParameterError,
    SearchAddress,
    cursor_of,
)

_HASH_CHARS: Final = 16  # of the hash, in addresses


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A text of an article; `text_hash` is the SHA-256 of its UTF-8 bytes, in hex.

    `replaced_at` is the time of the next text; None for the text of now.
    """

    article_id: str
    rev_n: int
    title: str | None
    text: str
    text_hash: str
    fetched_at: datetime
    replaced_at: datetime | None

    @property
    def query(self) -> str:
        """The parameters of its address."""
        return urlencode({"rev": self.rev_n, "hash": self.text_hash[:_HASH_CHARS]})


def version_query(row: RawArticle | ArticleRevision) -> str:
    """Return the parameters of the address of a row's text."""
    return _version(row, row.text or "", None).query


def _versions_of(
    article: RawArticle, revisions: Iterable[ArticleRevision]
) -> Iterator[Version]:
    """Yield the texts of an article, the newest first."""
    if article.text:
        yield _version(article, article.text, None)
    newest_first = sorted(revisions, key=lambda row: row.replaced_at, reverse=True)
    for row in newest_first:
        if row.text:
            yield _version(row, row.text, row.replaced_at)


def stored_version(
    lake: Reader, article_id: str, address: ArticleAddress
) -> tuple[RawArticle, Version] | None:
    """Return an article and the version of it that an address cites, without number and
    hash the text of now; None if there is none such.

    Several texts have one number where another method read the same page: without a
    hash, it is the newest of them.
    """
    articles = lake.read(RawArticle, article_id=[article_id])
    if not articles:
        return None
    [article] = articles
    revisions = lake.read(ArticleRevision, article_id=[article_id])
    for version in _versions_of(article, revisions):
        if _is_cited(version, address):
            return article, version
    return None


def _is_cited(version: Version, address: ArticleAddress) -> bool:
    if address.rev is None and not address.hash:
        return version.replaced_at is None
    is_same = version.text_hash.startswith(address.hash.lower())
    return is_same and address.rev in (None, version.rev_n)


def _version(
    row: RawArticle | ArticleRevision, text: str, replaced_at: datetime | None
) -> Version:
    return Version(
        article_id=row.article_id,
        rev_n=row.rev_n,
        title=row.title,
        text=text,
        text_hash=hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
        fetched_at=row.fetched_at,
        replaced_at=replaced_at,
    )


_ALIKE: Final = 0.9  # of the words, in order
_LEAD_WORDS: Final = 200  # a longer text is no lead
_WORDS_A_MINUTE: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class _Glance:
    """What is said beneath the headline.

    `first` is the agency that published the text first, and `publishers` how many did;
    `edits` and `silent_edits` are numbers. `cited` are the parameters of the address of
    this version; empty without a text. `subtitle` and `summary` are empty where the
    text begins with the same words. `search` is the address of the search that the
    reader came from; empty for none.
    """

    first: str
    publishers: int
    edits: int
    silent_edits: int
    minutes: int
    cited: str
    subtitle: str
    summary: str
    search: str


def glance_of(view: ArticleView, address: ArticleAddress) -> _Glance:
    """Return what the page of an article says at a glance."""
    article, enriched = view.article, view.enriched
    text = article.text or ""
    publications = view.publications
    edits = [row for row in view.revisions if row.cause != "method"]
    shown = [text]
    subtitle = _unless_repeated(article.subtitle, shown)
    if subtitle:
        shown.append(subtitle)
    # what a summary rests on refers to its sentences
    rests_on_text = bool(view.evidence)
    summary = (enriched and enriched.summary) or ""
    version = next(_versions_of(article, view.revisions), None)
    is_current = version is not None and version.replaced_at is None
    return _Glance(
        first=publications[0].agency,
        publishers=len({copy.agency for copy in publications}),
        edits=len(edits),
        silent_edits=sum(map(view.is_silent, edits)),
        minutes=_minutes(article.word_count) if text else 0,
        cited=version.query if version and is_current else "",
        subtitle=subtitle,
        summary=summary if rests_on_text else _unless_repeated(summary, shown),
        search=search_of(address),
    )


def _minutes(word_count: int) -> int:
    return max(1, round(word_count / _WORDS_A_MINUTE))


def _unless_repeated(text: str | None, shown: Sequence[str]) -> str:
    if text and not any(begins_with(one, text) for one in shown):
        return text
    return ""


def begins_with(text: str, lead: str) -> bool:
    """Return whether a text begins with the words of a lead, or nearly; in Markdown or
    not.
    """
    from rapidfuzz.distance import Indel

    wanted = normal_words(lead)
    if not wanted or len(wanted) > _LEAD_WORDS:
        return False
    # a word has some ten characters at most, on average
    beginning = normal_words(text[: 2 * len(lead) + 100])[: len(wanted)]
    return Indel.normalized_similarity(beginning, wanted) >= _ALIKE


def search_of(address: ArticleAddress) -> str:
    """Return the address of the search that a reader came from, which is always one of
    this server; empty for none, and for what is no search.
    """
    if not address.search:
        return ""
    try:
        return SearchAddress.of(dict(parse_qsl(address.search))).url()
    except ParameterError:
        return ""


def search_words(value: str) -> str:
    """Return a tag, section or name as the words to search for, without operators."""
    return " ".join(words(value))


_MAX_COMPARED_CHARS: Final = 20_000  # of each text
_SILENT: Final = "The publisher changed the text without saying so."
_STATED: Final = "The publisher changed the text, and its page says when."


def listed_edits(archive: Archive, parameters: EditParameters) -> Part[Edit]:
    """Return a part of the edits of the last days, newest first. Raises
    ParameterError.
    """
    now = datetime.now(UTC)
    limit = parameters.limit
    after_at, after_id = parameters.position(str, str) or (None, None)
    found = newest_edits(
        archive.lake,
        first=now - timedelta(days=parameters.days),
        silent_only=parameters.kind == "silent",
        desk=parameters.desk,
        agency=parameters.agency,
        after=(datetime.fromisoformat(after_at), after_id) if after_at else None,
        limit=limit + 1,
    )
    return part_of(
        found, limit, lambda one: cursor_of(one.replaced_at.isoformat(), one.article_id)
    )


def page_of_edit(archive: Archive, edit: Edit, base: str) -> str:
    """Return the address of the page with the words that an edit changed."""
    number = revision_number(edit.replaced_at)
    return f"{base}/articles/{edit.article_id}/revisions/{number}"


def edit_entries(archive: Archive, edits: Sequence[Edit], base: str) -> list[Entry]:
    """Return edits as entries of a feed, with the words that changed."""
    entries = []
    for edit in edits:
        page = page_of_edit(archive, edit, base)
        entry = Entry(
            key=f"edits/{edit.article_id}/{revision_number(edit.replaced_at)}",
            title=edit.title or edit.url,
            url=page,
            page=f"{base}/articles/{edit.article_id}",
            published=edit.replaced_at,
            updated=edit.replaced_at,
            summary=_SILENT if edit.is_silent else _STATED,
            authors=[archive.agency_name(edit.agency)],
            language=edit.language,
            content=_changed_words(archive, edit),
        )
        entries.append(entry)
    return entries


def _changed_words(archive: Archive, edit: Edit) -> str:
    """Return both texts as one piece of HTML; empty if one is not kept any more."""
    number = revision_number(edit.replaced_at)
    found = revision_and_successor(archive.lake, edit.article_id, number)
    if found is None:
        return ""
    before, after = [(one.text or "")[:_MAX_COMPARED_CHARS] for one in found]
    return f'<div style="white-space: pre-wrap">{word_diff(before, after)}</div>'


# --- the main image -------------------------------------------------------------------


MAX_IMAGE_BYTES: Final = 5_000_000
_KEPT_IMAGES: Final = 20  # images in memory, for an hour at most
# SVG can have scripts
_IMAGE_KINDS: Final = {
    "image/avif",
    "image/gif",
    "image/jpeg",
    "image/png",
    "image/webp",
}
_FETCH_S: Final = 8.0
_IMAGE_HEADERS: Final = {
    "Cache-Control": "private, max-age=86400",
    "Content-Security-Policy": "sandbox; default-src 'none'",
}


def image_handler(archive: Archive, fetcher: Fetcher) -> Callable[[Request], Response]:
    """Return the handler that answers with the image of an article; 404 without one,
    502 if it cannot be shown.
    """

    @lru_cache(maxsize=_KEPT_IMAGES)
    def fetched(url: str, hour: str) -> tuple[str, bytes | None]:
        """Return kind and bytes of an image, or the reason why there are none; it is
        requested again next hour.
        """
        return _fetch_image(fetcher, url)

    def image(request: Request) -> Response:
        article_id = request.path_params["article_id"]
        url = None
        for row in archive.lake.read(RawArticle, article_id=[article_id]):
            url = row.image_url
        if not url:
            raise HTTPException(404, f"no image of an article {article_id} is known")
        kind, body = fetched(url, f"{datetime.now(UTC):%Y-%m-%d %H}")
        if body is None:
            raise HTTPException(502, kind)
        return Response(body, headers=_IMAGE_HEADERS, media_type=kind)

    return image


def _fetch_image(fetcher: Fetcher, url: str) -> tuple[str, bytes | None]:
    try:
        page = fetcher.fetch(
            PageRequest(
                url,
                max_s=_FETCH_S,
                headers=(("Accept", ", ".join(sorted(_IMAGE_KINDS))),),
            )
        )
    except FetchError as error:
        return f"the image could not be fetched: {error}", None
    kind = page.content_type.partition(";")[0].strip().lower()
    if kind not in _IMAGE_KINDS:
        return (
            (
                f"the image has the type {kind[:40] or 'unknown'}; shown are"
                f" {', '.join(sorted(_IMAGE_KINDS))}"
            ),
            None,
        )
    if len(page.body) > MAX_IMAGE_BYTES:
        return f"the image has more than {MAX_IMAGE_BYTES:,} bytes", None
    return kind, page.body
