"""Messages of saved queries: the hits that are due, a few articles in each message."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from news_assets.pipeline.alerts.query_file import Alerts, Operators, SavedQuery
from news_assets.ports.services import Rows
from news_assets.records.alerts import OPERATORS, Condition, Message, QueryHit
from news_assets.records.articles import RawArticle
from news_assets.records.derived import EnrichedArticle

# of a message: with cut titles it stays below Telegram's 4,096 characters
MAX_ARTICLES = 10
_MAX_TITLE_CHARS = 120
_MAX_URL_CHARS = 250  # longer addresses are not in the text; the payload has them


def tell_hits(rows: Rows, alerts: Alerts, now: datetime) -> list[Message]:
    """Store and return the messages of all hits that are due, and note the hits as
    reported.

    Hits of queries that are no longer in the file, and those whose article is
    withdrawn, give no message.
    """
    waiting = [hit for hit in rows.read(QueryHit, told_at=[None]) if hit.due_at <= now]
    if not waiting:
        return []
    facts = _facts_of(rows, {hit.article_id for hit in waiting})
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for hit in sorted(waiting, key=lambda hit: (hit.query, hit.article_id)):
        if hit.article_id in facts:
            found[hit.query].append(facts[hit.article_id])
    queries = {query.name: query for query in alerts.queries}
    messages: list[Message] = []
    for name, articles in found.items():
        if name in queries:
            messages += _messages(queries[name], articles, now)
    rows.upsert([replace(hit, told_at=now) for hit in waiting])
    rows.upsert(messages)
    return messages


def _facts_of(rows: Rows, ids: Collection[str]) -> dict[str, dict[str, Any]]:
    """Return what a message says of each of these articles that has a text."""
    enriched = rows.read(EnrichedArticle, article_id=ids, outcome=["ok"])
    by_id = {row.article_id: row for row in enriched}
    facts: dict[str, dict[str, Any]] = {}
    for article in rows.read(RawArticle, article_id=ids, outcome=["ok"]):
        facts[article.article_id] = _facts(article, by_id.get(article.article_id))
    return facts


def _facts(article: RawArticle, enriched: EnrichedArticle | None) -> dict[str, Any]:
    published_at = article.published_at
    return {
        "article_id": article.article_id,
        "desk": article.desk,
        "agency": article.agency,
        "title": article.title or article.article_id,
        "url": article.canonical_url or article.url,
        "published_at": published_at.isoformat() if published_at else None,
        "language": article.language,
        "theme": enriched.theme_code if enriched else None,
        "summary": enriched.summary if enriched else None,
    }


def _messages(
    query: SavedQuery, articles: Sequence[dict[str, Any]], now: datetime
) -> list[Message]:
    messages: list[Message] = []
    for start in range(0, len(articles), MAX_ARTICLES):
        some = articles[start : start + MAX_ARTICLES]
        noun = "article" if len(some) == 1 else "articles"
        subject = f"{query.name}: {len(some)} new {noun}"
        payload = {"type": "articles", "query": query.name, "articles": some}
        text = "\n\n".join(map(_lines, some))
        messages += messages_to(query.to, query.name, subject, text, payload, now)
    return messages


def _lines(article: dict[str, Any]) -> str:
    title, url = article["title"], article["url"]
    if len(title) > _MAX_TITLE_CHARS:
        title = f"{title[: _MAX_TITLE_CHARS - 1]}…"
    if len(url) > _MAX_URL_CHARS:
        url = article["article_id"]
    return f"{' '.join(title.split())}\n{url}"


def withdraw_messages(rows: Rows, article_ids: Collection[str]) -> None:
    """Take withdrawn articles out of the stored messages; one that is not sent and has
    no other article is deleted.
    """
    named = rows.frame(Message, None, ("message_id", "payload_json"))
    found: list[str] = []
    for key, payload in named.iter_rows():
        if any(one in payload for one in article_ids):
            found.append(key)
    for message in rows.read(Message, message_id=found):
        payload = json.loads(message.payload_json)
        listed = payload.get("articles", [])
        kept = [one for one in listed if one["article_id"] not in article_ids]
        if len(kept) == len(listed):
            continue
        if not kept and message.sent_at is None:
            rows.delete(Message, message_id=[message.message_id])
            continue
        payload["articles"] = kept
        changed = replace(
            message,
            text="\n\n".join(map(_lines, kept)),
            payload_json=json.dumps(payload, ensure_ascii=False),
        )
        rows.upsert([changed])


def messages_to(
    channels: Sequence[str],
    topic: str,
    subject: str,
    text: str,
    payload: dict[str, Any],
    now: datetime,
) -> list[Message]:
    """Return a message to each channel, due now.

    Args:
        channels: Names of the channels.
        topic: The saved query, or OPERATORS.
        subject: The subject, and title of a notification.
        text: The text.
        payload: What a webhook gets.
        now: The time of the message; with contents and channel it gives the id.
    """
    payload_json = json.dumps(
        {**payload, "created_at": now.isoformat()}, ensure_ascii=False
    )
    messages: list[Message] = []
    for channel in channels:
        contents = f"{channel}\n{topic}\n{payload_json}".encode("utf-8", "replace")
        message = Message(
            message_id=f"msg_{hashlib.sha256(contents).hexdigest()[:24]}",
            topic=topic,
            channel=channel,
            subject=subject,
            text=text,
            payload_json=payload_json,
            created_at=now,
            next_try_at=now,
        )
        messages.append(message)
    return messages


# --- operators' messages: one when a state becomes bad, one when it is over -----------

_MAX_LINES = 20  # of a message; the subject has the number of all


def tell_conditions(
    rows: Rows,
    operators: Operators,
    bad: Mapping[str, str],
    unknown: Collection[str],
    now: datetime,
) -> list[Message]:
    """Store and return the messages about what became bad, and about what is over,
    since the last call.

    `bad` has one line about each state that is bad now, by its name. A state that stays
    bad gives no second message, and one of which nothing is known now stays as it was
    reported.
    """
    reported = {row.name: row for row in rows.read(Condition)}
    current = bad.keys() | set(unknown)
    ended = [row for name, row in reported.items() if name not in current]
    begun: list[Condition] = []
    for name, text in bad.items():
        if name not in reported:
            begun.append(Condition(name=name, text=text, since=now))
    if not begun and not ended:
        return []
    rows.upsert(begun)
    if ended:
        rows.delete(Condition, name=[row.name for row in ended])
    messages = messages_to(
        operators.to,
        OPERATORS,
        _subject(begun, ended),
        _text(begun, ended),
        {
            "type": "conditions",
            "begun": {row.name: row.text for row in begun},
            "ended": [row.name for row in ended],
        },
        now,
    )
    rows.upsert(messages)
    return messages


def _subject(begun: Sequence[Condition], ended: Sequence[Condition]) -> str:
    if len(begun) + len(ended) > 1:
        return f"news: {len(begun)} new problems, {len(ended)} over"
    return f"news: {begun[0].name}" if begun else f"news: over: {ended[0].name}"


def _text(begun: Sequence[Condition], ended: Sequence[Condition]) -> str:
    by_name = sorted(begun, key=lambda row: row.name)
    lines = [f"{row.name}: {row.text}" for row in by_name]
    lines += [
        f"over: {row.name} (since {row.since:%Y-%m-%d %H:%M} UTC)" for row in ended
    ]
    shown = [one[:170] for one in lines[:_MAX_LINES]]
    if len(lines) > _MAX_LINES:
        shown.append(
            f"and {len(lines) - _MAX_LINES} more; see `news-assets alerts list`"
        )
    return "\n".join(shown)
