"""Failures with their articles, counts of them by host and reason, and what became of those that
operators had tried again; messages to readers by state.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final, Literal

from news_assets.ports.services import Reader
from news_assets.records.derived import Failure
from news_assets.store.lake import Lake
from news_assets.store.tables import made_of

# Reasons that differ only in an address or a long number are one cause.
_VARYING = r"https?://\S+|\d+[.,]\d+|\b\d{4,}\b"
_HOST = "^[a-z]+://(?:[^/@]*@)?([^/:?#]+)"
_WITH_ARTICLES = rf"""
    WITH known AS (
        SELECT article_id, title, url FROM raw_articles SEMI JOIN failures USING (article_id)
    ), listed AS (
        SELECT article_id, any_value(title) AS title, any_value(url) AS url
        FROM entries SEMI JOIN failures USING (article_id) GROUP BY article_id
    ), named AS (
        SELECT failures.*, coalesce(known.title, listed.title) AS title,
            coalesce(known.url, listed.url, '') AS url,
            regexp_extract(coalesce(known.url, listed.url, ''), '{_HOST}', 1) AS host,
            regexp_replace(reason, '{_VARYING}', '…', 'g') AS cause
        FROM failures LEFT JOIN known USING (article_id) LEFT JOIN listed USING (article_id)
    )
"""
_NEWEST = f"""
    {_WITH_ARTICLES}
    SELECT * FROM named
    WHERE ($desk IS NULL OR desk = $desk) AND ($agency IS NULL OR agency = $agency)
        AND ($stage IS NULL OR stage = $stage) AND ($host IS NULL OR host = $host)
        AND ($cause IS NULL OR cause = $cause)
        AND (
            $last_at IS NULL
            OR (last_failed_at, stage, article_id) < ($last_at::TIMESTAMPTZ, $last_stage, $last_id)
        )
    ORDER BY last_failed_at DESC, stage DESC, article_id DESC LIMIT $limit
"""
_COUNTS = f"""
    {_WITH_ARTICLES}
    SELECT desk, agency, stage, host, cause, count(*) AS failures,
        count_if(next_try_at IS NULL) AS given_up
    FROM named GROUP BY ALL ORDER BY failures DESC, host, cause, desk, agency, stage
"""
_TRIED_AGAIN = """
    WITH tried AS (
        SELECT acted_at, operator, article_id, agency, unnest(string_split(detail, ', ')) AS stage
        FROM operator_actions WHERE action = 'retry'
    )
"""
_RETRIES = f"""
    {_TRIED_AGAIN}
    SELECT acted_at, operator, count(*) AS failures, count_if(last_failed_at IS NULL) AS done,
        count_if(last_failed_at > acted_at) AS failed
    FROM tried LEFT JOIN failures USING (article_id, stage)
    GROUP BY acted_at, operator ORDER BY acted_at DESC LIMIT $limit
"""
_RETRIED = f"""
    {_TRIED_AGAIN}
    , wanted AS (
        SELECT * FROM tried WHERE ($acted_at IS NULL OR acted_at = $acted_at::TIMESTAMPTZ)
            AND ($article_id IS NULL OR article_id = $article_id)
    ), known AS (
        SELECT article_id, title FROM raw_articles SEMI JOIN wanted USING (article_id)
    )
    SELECT acted_at, operator, article_id, stage, wanted.agency, title, last_failed_at, reason
    FROM wanted LEFT JOIN failures USING (article_id, stage) LEFT JOIN known USING (article_id)
    ORDER BY acted_at DESC, last_failed_at > acted_at DESC NULLS LAST, last_failed_at DESC,
        article_id, stage
    LIMIT $limit
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedFailure(Failure):
    """A failure with what is known of its article."""

    title: Annotated[str | None, "headline of the article"]
    url: Annotated[str, "address of the article; empty if it is not known"]
    host: Annotated[str, "host of that address"]
    cause: Annotated[str, "the reason, with … for addresses and long numbers"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureCount:
    """How many failures a stage has with articles of one agency and host for one cause."""

    desk: str
    agency: str
    stage: str
    host: str
    cause: str
    failures: int
    given_up: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """What became of the failures that an operator had tried again at one time.

    The others of them are `done`, have `failed` again, or wait.
    """

    acted_at: datetime
    operator: str
    failures: int
    done: int
    failed: int

    @property
    def waiting(self) -> int:
        """Number of those that no run has tried yet."""
        return self.failures - self.done - self.failed


@dataclass(frozen=True, slots=True, kw_only=True)
class _RetriedFailure:
    """One of them; `reason` and `last_failed_at` are None if the stage succeeded."""

    acted_at: datetime
    operator: str
    article_id: str
    stage: str
    agency: str
    title: str | None
    last_failed_at: datetime | None
    reason: str | None

    @property
    def state(self) -> str:
        """`done`, `failed` or `waiting`."""
        if self.last_failed_at is None:
            return "done"
        return "failed" if self.last_failed_at > self.acted_at else "waiting"


def newest_failures(
    lake: Lake,
    *,
    desk: str | None = None,
    agency: str | None = None,
    stage: str | None = None,
    host: str | None = None,
    cause: str | None = None,
    after: tuple[datetime, str, str] | None = None,
    limit: int,
) -> list[ListedFailure]:
    """Return failures, newest first.

    Args:
        lake: The lake.
        desk: Key of the desk.
        agency: Key of the agency.
        stage: Name of the stage.
        host: Host of the article's address.
        cause: The cause, as of a row.
        after: last_failed_at, stage and article_id; only failures that come after it.
        limit: How many failures.
    """
    last_at, last_stage, last_id = after or (None, None, None)
    given = {"desk": desk, "agency": agency, "stage": stage}
    given |= {"host": host, "cause": cause}
    place = {"last_at": last_at, "last_stage": last_stage, "last_id": last_id}
    found = lake.query(_NEWEST, {**given, **place, "limit": limit})
    return made_of(ListedFailure, found)


def failure_counts(lake: Lake) -> list[FailureCount]:
    """Return the numbers of all failures, the largest first."""
    found = lake.query(_COUNTS)
    return made_of(FailureCount, found)


def newest_retries(lake: Lake, limit: int) -> list[Retry]:
    """Return the last retries by operators."""
    found = lake.query(_RETRIES, {"limit": limit})
    return made_of(Retry, found)


def retried_failures(
    lake: Lake,
    *,
    acted_at: datetime | None = None,
    article_id: str | None = None,
    limit: int,
) -> list[_RetriedFailure]:
    """Return the failures of a retry, or of the retries of an article, the newest retry
    first; of each those first that failed again, then those that wait.
    """
    given: dict[str, Any] = {"acted_at": acted_at, "article_id": article_id}
    found = lake.query(_RETRIED, {**given, "limit": limit})
    return made_of(_RetriedFailure, found)


MessageState = Literal["waiting", "delivered", "given up"]
_STATE: Final = """
    CASE WHEN sent_at IS NOT NULL THEN 'delivered'
    WHEN next_try_at IS NULL THEN 'given up' ELSE 'waiting' END
"""
_MESSAGE_COUNTS: Final = (
    f"SELECT {_STATE} AS state, count(*) FROM messages GROUP BY state"
)
_NEWEST_MESSAGES: Final = f"""
    SELECT message_id, topic, channel, subject, created_at, attempts, next_try_at, sent_at,
        reason, {_STATE} AS state
    FROM messages WHERE $state IS NULL OR {_STATE} = $state
    ORDER BY created_at DESC, message_id LIMIT $limit
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _ListedMessage:
    """A message without its text. The channel of a subscription is its id."""

    message_id: str
    topic: str
    channel: str
    subject: str
    created_at: datetime
    attempts: int
    next_try_at: datetime | None
    sent_at: datetime | None
    reason: str | None
    state: MessageState


def newest_messages(
    lake: Reader, state: MessageState | None, limit: int
) -> list[_ListedMessage]:
    """Return the newest messages of a state, or of all."""
    found = lake.query(_NEWEST_MESSAGES, {"state": state, "limit": limit})
    return made_of(_ListedMessage, found)


def message_counts(lake: Reader) -> dict[MessageState, int]:
    """Return how many messages there are of each state that any has."""
    return dict(lake.query(_MESSAGE_COUNTS).iter_rows())
