"""Messages of saved queries: the hits that are due, a few articles in each message."""

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from typing import Any

from news_assets.pipeline.alerts.query_file import Alerts, Operators, SavedQuery
from news_assets.ports.lake import Rows
from news_assets.records.alerts import OPERATORS, Condition, Message, QueryHit
from news_assets.records.articles import RawArticle
from news_assets.records.derived import EnrichedArticle

MAX_ARTICLES = (
    10  # of a message: with cut titles it stays below Telegram's 4,096 characters
)
_MAX_TITLE_CHARS = 120
_MAX_URL_CHARS = 250  # longer addresses are left out of the text; the payload has them


def tell_hits(rows: Rows, alerts: Alerts, now: datetime) -> list[Message]:
    """Make the messages of all hits that are due, in one transaction with the note that
    they were told.

    Hits of queries that are no longer in the file, and those whose article is
    withdrawn, are not told.
    """
    waiting = [hit for hit in rows.read(QueryHit, told_at=[None]) if hit.due_at <= now]
    if not waiting:
        return []
    queries = {query.name: query for query in alerts.queries}
    ids = {hit.article_id for hit in waiting}
    articles = {
        row.article_id: row
        for row in rows.read(RawArticle, article_id=ids, outcome=["ok"])
    }
    summaries = {
        row.article_id: row
        for row in rows.read(EnrichedArticle, article_id=ids, outcome=["ok"])
    }
    messages: list[Message] = []
    for name, hits in groupby(
        sorted(waiting, key=lambda hit: (hit.query, hit.article_id)),
        lambda hit: hit.query,
    ):
        if name in queries:
            found = [
                articles[hit.article_id] for hit in hits if hit.article_id in articles
            ]
            messages += _messages(
                queries[name],
                [_facts(one, summaries.get(one.article_id)) for one in found],
                now,
            )
    rows.upsert([replace(hit, told_at=now) for hit in waiting])
    if messages:
        rows.upsert(messages)
    return messages


def _facts(article: RawArticle, enriched: EnrichedArticle | None) -> dict[str, Any]:
    return {
        "article_id": article.article_id,
        "desk": article.desk,
        "agency": article.agency,
        "title": article.title or article.article_id,
        "url": article.canonical_url or article.url,
        "published_at": article.published_at.isoformat()
        if article.published_at
        else None,
        "language": article.language,
        "theme": enriched.theme_code if enriched else None,
        "summary": enriched.summary if enriched else None,
    }


def _messages(
    query: SavedQuery, articles: Sequence[dict[str, Any]], now: datetime
) -> Iterator[Message]:
    for start in range(0, len(articles), MAX_ARTICLES):
        some = articles[start : start + MAX_ARTICLES]
        subject = f"{query.name}: {len(some)} new {'article' if len(some) == 1 else 'articles'}"
        payload = {"type": "articles", "query": query.name, "articles": some}
        yield from messages_to(
            query.to, query.name, subject, "\n\n".join(map(_lines, some)), payload, now
        )


def _lines(article: dict[str, Any]) -> str:
    title = article["title"]
    shown = (
        title if len(title) <= _MAX_TITLE_CHARS else f"{title[: _MAX_TITLE_CHARS - 1]}…"
    )
    url = (
        article["url"]
        if len(article["url"]) <= _MAX_URL_CHARS
        else article["article_id"]
    )
    return f"{' '.join(shown.split())}\n{url}"


def withdraw_messages(rows: Rows, article_ids: Collection[str]) -> None:
    """Take withdrawn articles out of the stored messages; one that is not sent and has
    no other article is deleted.
    """
    named = rows.frame(Message, None, ("message_id", "payload_json"))
    found = [
        key
        for key, payload in named.iter_rows()
        if any(one in payload for one in article_ids)
    ]
    for message in rows.read(Message, message_id=found) if found else ():
        payload = json.loads(message.payload_json)
        listed = payload.get("articles", [])
        kept = [one for one in listed if one["article_id"] not in article_ids]
        if not kept and message.sent_at is None and listed:
            rows.delete(Message, message_id=[message.message_id])
        elif len(kept) < len(listed):
            payload["articles"] = kept
            text, stored = (
                "\n\n".join(map(_lines, kept)),
                json.dumps(payload, ensure_ascii=False),
            )
            rows.upsert([replace(message, text=text, payload_json=stored)])


def messages_to(
    channels: Sequence[str],
    topic: str,
    subject: str,
    text: str,
    payload: dict[str, Any],
    now: datetime,
) -> Iterator[Message]:
    """Yield a message to each channel, due now. The id is that of its contents, time
    and channel.
    """
    payload_json = json.dumps(
        {**payload, "created_at": now.isoformat()}, ensure_ascii=False
    )
    for channel in channels:
        digest = hashlib.sha256(
            f"{channel}\n{topic}\n{payload_json}".encode("utf-8", "replace")
        ).hexdigest()
        yield Message(
            message_id=f"msg_{digest[:24]}",
            topic=topic,
            channel=channel,
            subject=subject,
            text=text,
            payload_json=payload_json,
            created_at=now,
            next_try_at=now,
        )


# --- operators' messages: one when a state becomes bad, one when it is over -----------

MAX_LINES = 20  # of a message; the subject has the number of all


def tell_conditions(
    rows: Rows,
    operators: Operators,
    bad: Mapping[str, str],
    unknown: Collection[str],
    now: datetime,
) -> list[Message]:
    """Make the messages about what became bad, and about what is over, since the last
    call.

    `bad` has one line about each state that is bad now, by its name. A state that stays
    bad is not told again, and one of which nothing is known now stays as it was told.
    """
    told = {row.name: row for row in rows.read(Condition)}
    begun = {name: text for name, text in bad.items() if name not in told}
    ended = [
        row for name, row in told.items() if name not in bad and name not in unknown
    ]
    if begun:
        rows.upsert(
            [Condition(name=name, text=text, since=now) for name, text in begun.items()]
        )
    if ended:
        rows.delete(Condition, name=[row.name for row in ended])
    lines = [
        *(f"{name}: {text}" for name, text in sorted(begun.items())),
        *(f"over: {row.name} (since {row.since:%Y-%m-%d %H:%M} UTC)" for row in ended),
    ]
    if not lines:
        return []
    messages = list(
        messages_to(
            operators.to,
            OPERATORS,
            _subject(begun, ended),
            _text(lines),
            _payload(begun, ended),
            now,
        )
    )
    rows.upsert(messages)
    return messages


def _subject(begun: Mapping[str, str], ended: Sequence[Condition]) -> str:
    if len(begun) + len(ended) == 1:
        return f"news: {next(iter(begun))}" if begun else f"news: over: {ended[0].name}"
    return f"news: {len(begun)} new problems, {len(ended)} over"


def _text(lines: Sequence[str]) -> str:
    more = (
        [f"and {len(lines) - MAX_LINES} more; see `news-assets alerts list`"]
        if len(lines) > MAX_LINES
        else []
    )
    return "\n".join([*(line[:170] for line in lines[:MAX_LINES]), *more])


def _payload(begun: Mapping[str, str], ended: Sequence[Condition]) -> dict[str, object]:
    return {
        "type": "conditions",
        "begun": dict(begun),
        "ended": [row.name for row in ended],
    }
