"""Messages of saved queries and operators: made of what is due, and sent.

Each is reserved, sent, and noted as sent or failed, with longer and longer pauses in
between. A process that dies between the answer of a channel and its note sends that one
message again, with the same id. All others are sent once, also by processes side by
side.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

from news_assets.errors import NotifyError
from news_assets.pipeline.alerts.mail_text import subject_of
from news_assets.pipeline.alerts.query_file import Alerts, Operators, SavedQuery
from news_assets.pipeline.alerts.story_hits import SortedHits, sort_hits
from news_assets.ports.services import Clock, Lake, Rows
from news_assets.records.alerts import (
    OPERATORS,
    SUBSCRIPTION,
    ChangeHit,
    Condition,
    Message,
    QueryHit,
)
from news_assets.records.articles import RawArticle
from news_assets.records.derived import EnrichedArticle, Story
from news_assets.records.desks import Desk
from news_assets.records.meetings import StoredMeeting
from news_assets.records.reading import WITHDRAWN
from news_assets.retry_table import MESSAGE
from news_assets.text.dates import zone_info

# of a message: with cut titles it stays below Telegram's 4,096 characters
_MAX_ARTICLES = 10
_MAX_TITLE_CHARS = 120
_MAX_URL_CHARS = 250  # longer addresses are not in the text; the payload has them


_Hit = TypeVar("_Hit", QueryHit, ChangeHit)


@dataclass(frozen=True, slots=True)
class _Publisher:
    """How messages name an agency, and the IANA zone of its times."""

    name: str
    timezone: str


_Publishers = Mapping[tuple[str, str], _Publisher]  # by desk and agency
_NO_PUBLISHERS: _Publishers = {}


def publishers_of(desks: Iterable[Desk]) -> _Publishers:
    """Return the publishers of these desks."""
    found: dict[tuple[str, str], _Publisher] = {}
    for desk in desks:
        for agency in desk.agencies:
            publisher = _Publisher(agency.name, agency.timezone)
            found[desk.key, agency.key] = publisher
    return found


def tell_hits(
    rows: Rows, alerts: Alerts, now: datetime, publishers: _Publishers = _NO_PUBLISHERS
) -> list[Message]:
    """Store and return the messages of all hits that are due, and note the hits as
    reported.

    Hits of queries that are no longer in the file, and those whose article is
    withdrawn, give no message.
    """
    queries = {query.name: query for query in alerts.queries}
    due = _due(rows.read(QueryHit, told_at=[None]), now)
    found = sort_hits(rows, queries, due, now)
    rows.upsert(found.waiting)
    changes = _due(rows.read(ChangeHit, told_at=[None]), now)
    if not due and not changes:
        return []
    new_articles = _new_by_query(rows, found, publishers)
    messages = _messages_of(queries, "articles", new_articles, now)
    changed = _changes_by_query(rows, changes, publishers)
    messages += _messages_of(queries, "changes", changed, now)
    sent = [*found.to_send, *found.covered]
    rows.upsert([replace(hit, told_at=now) for hit in sent])
    rows.upsert([replace(hit, told_at=now) for hit in changes])
    rows.upsert(messages)
    return messages


def _messages_of(
    queries: Mapping[str, SavedQuery],
    kind: str,
    by_query: Mapping[str, list[dict[str, Any]]],
    now: datetime,
) -> list[Message]:
    """Return the messages of the queries that are still in the file."""
    messages: list[Message] = []
    for name, articles in by_query.items():
        if name in queries:
            messages += _messages(queries[name], kind, articles, now)
    return messages


def _due(hits: Iterable[_Hit], now: datetime) -> list[_Hit]:
    return [hit for hit in hits if hit.due_at <= now]


def _new_by_query(
    rows: Rows, hits: SortedHits, publishers: _Publishers
) -> dict[str, list[dict[str, Any]]]:
    """Return what messages say of the articles of these hits, by query; of queries that
    tell stories also the story.
    """
    facts = _facts_of(rows, {hit.article_id for hit in hits.to_send}, publishers)
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for hit in sorted(hits.to_send, key=lambda hit: (hit.query, hit.article_id)):
        if hit.article_id not in facts:
            continue
        of_article = facts[hit.article_id]
        story = hits.stories.get(hit.article_id)
        if hit.query in hits.by_story and story is not None:
            of_article = of_article | {"story": _story_facts(story, publishers)}
        found[hit.query].append(of_article)
    return found


def _story_facts(story: Story, publishers: _Publishers) -> dict[str, Any]:
    names = []
    for one in story.publishers:
        desk, _, agency = one.partition("/")
        publisher = publishers.get((desk, agency))
        names.append(publisher.name if publisher else agency)
    return {
        "story_id": story.story_id,
        "title": story.title,
        "publisher_count": story.publisher_count,
        "article_count": story.article_count,
        "publishers": names,
    }


def _changes_by_query(
    rows: Rows, hits: Sequence[ChangeHit], publishers: _Publishers
) -> dict[str, list[dict[str, Any]]]:
    """Return what messages say of the changes of these hits, by query, in their order."""
    withdrawn = [hit.article_id for hit in hits if hit.event.startswith(WITHDRAWN)]
    ids = {hit.article_id for hit in hits}
    facts = _facts_of(rows, ids, publishers, withdrawn)
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for hit in sorted(hits, key=lambda hit: (hit.query, hit.event.split()[1:])):
        if hit.article_id in facts:
            kind, changed_at, *_ = hit.event.split(" ", 2)
            change = {"change": kind, "changed_at": changed_at}
            found[hit.query].append(facts[hit.article_id] | change)
    return found


def _facts_of(
    rows: Rows,
    ids: Collection[str],
    publishers: _Publishers,
    withdrawn: Collection[str] = (),
) -> dict[str, dict[str, Any]]:
    """Return what a message says of each of these articles that has a text, or is one of
    the `withdrawn`.
    """
    enriched = rows.read(EnrichedArticle, article_id=ids, outcome=["ok"])
    by_id = {row.article_id: row for row in enriched}
    articles = rows.read(RawArticle, article_id=ids, outcome=["ok"])
    if withdrawn:
        articles += rows.read(RawArticle, article_id=withdrawn, outcome=[WITHDRAWN])
    meetings = _meetings_of(rows, articles)
    facts: dict[str, dict[str, Any]] = {}
    for article in articles:
        publisher = publishers.get((article.desk, article.agency))
        zone = publisher.timezone if publisher else "UTC"
        of_article = _facts(article, by_id.get(article.article_id))
        of_article["publisher"] = publisher.name if publisher else article.agency
        of_article["timezone"] = zone
        if article.meeting_id in meetings:
            of_article["meeting"] = _meeting(meetings[article.meeting_id], zone)
        facts[article.article_id] = of_article
    return facts


def _meetings_of(
    rows: Rows, articles: Iterable[RawArticle]
) -> dict[str, StoredMeeting]:
    """Return the meetings of these articles, by meeting_id; news have none."""
    meeting_ids: set[str] = set()
    for article in articles:
        if article.meeting_id:
            meeting_ids.add(article.meeting_id)
    found = rows.read(StoredMeeting, meeting_id=meeting_ids)
    return {meeting.meeting_id: meeting for meeting in found}


def _meeting(meeting: StoredMeeting, zone: str) -> dict[str, str]:
    when = str(meeting.day or "")
    if meeting.starts_at is not None and not meeting.is_all_day:
        begin = meeting.starts_at.astimezone(zone_info(zone))
        when = f"{begin:%Y-%m-%d %H:%M} {begin:%Z}"
    place = (meeting.location_name, meeting.location_address)
    return {
        "meeting_id": meeting.meeting_id,
        "body": meeting.body,
        "status": meeting.status,
        "when": when,
        "place": ", ".join(filter(None, place)),
    }


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
    query: SavedQuery, kind: str, articles: Sequence[dict[str, Any]], now: datetime
) -> list[Message]:
    messages: list[Message] = []
    for start in range(0, len(articles), _MAX_ARTICLES):
        some = articles[start : start + _MAX_ARTICLES]
        payload = {
            "type": kind,
            "query": query.name,
            "title": query.title or query.name,
            "articles": some,
        }
        subject = subject_of(payload)
        text = "\n\n".join(map(_lines, some))
        messages += messages_to(query.to, query.name, subject, text, payload, now)
    return messages


def _lines(article: dict[str, Any]) -> str:
    title, url = article["title"], article["url"]
    if len(title) > _MAX_TITLE_CHARS:
        title = f"{title[: _MAX_TITLE_CHARS - 1]}…"
    if (story := article.get("story")) and story["publisher_count"] > 1:
        title = f"{title} ({story['publisher_count']} publishers)"
    if article.get("change"):
        title = f"{article['change']}: {title}"
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
        _withdraw_from(rows, message, article_ids)


def _withdraw_from(rows: Rows, message: Message, article_ids: Collection[str]) -> None:
    """Take articles out of one stored message, or delete it."""
    payload = json.loads(message.payload_json)
    listed = payload.get("articles", [])
    kept = [one for one in listed if one["article_id"] not in article_ids]
    if len(kept) == len(listed):
        return
    if not kept and message.sent_at is None:
        rows.delete(Message, message_id=[message.message_id])
        return
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
    messages = _of_conditions(operators, begun, ended, now)
    rows.upsert(messages)
    return messages


def _of_conditions(
    operators: Operators,
    begun: Sequence[Condition],
    ended: Sequence[Condition],
    now: datetime,
) -> list[Message]:
    """Return the messages to operators about what became bad, and what is over."""
    payload = {
        "type": "conditions",
        "begun": {row.name: row.text for row in begun},
        "ended": [row.name for row in ended],
    }
    subject = _subject(begun, ended)
    text = _text(begun, ended)
    return messages_to(operators.to, OPERATORS, subject, text, payload, now)


def _subject(begun: Sequence[Condition], ended: Sequence[Condition]) -> str:
    if len(begun) + len(ended) > 1:
        return f"news: {len(begun)} new problems, {len(ended)} over"
    return f"news: {begun[0].name}" if begun else f"news: over: {ended[0].name}"


def _text(begun: Sequence[Condition], ended: Sequence[Condition]) -> str:
    lines: list[str] = []
    for row in sorted(begun, key=lambda row: row.name):
        lines.append(f"{row.name}: {row.text}")
    for row in ended:
        lines.append(f"over: {row.name} (since {row.since:%Y-%m-%d %H:%M} UTC)")
    shown = [one[:170] for one in lines[:_MAX_LINES]]
    if len(lines) > _MAX_LINES:
        shown.append(
            f"and {len(lines) - _MAX_LINES} more; see `news-assets alerts list`"
        )
    return "\n".join(shown)


# --- sending --------------------------------------------------------------------------

# sends one message over the channel that it names; raises NotifyError
_Send = Callable[[Message], None]
RESERVED = timedelta(minutes=5)  # longer than any attempt


@dataclass(frozen=True, slots=True)
class Sent:
    """How many messages a channel accepted, how many are tried again later, and how
    many were given up.
    """

    sent: int = 0
    delayed: int = 0
    given_up: int = 0


def send_due(lake: Lake, send: _Send, clock: Clock) -> Sent:
    """Send every message that is due, oldest first.

    After a failure that can pass, the other messages of the channel wait for the next
    call, so that a receiver that hangs is requested once; so do those of all subscribers
    where the mail server cannot be reached.
    """
    sent = delayed = given_up = 0
    failed: set[str] = set()
    while message := lake.transact(lambda rows: _reserve_next(rows, failed, clock())):
        result, is_unreachable = _attempt(send, message, clock)
        lake.transact(lambda rows: rows.upsert([result]))  # noqa: B023 - runs at once
        if result.next_try_at is not None:
            failed.add(SUBSCRIPTION if is_unreachable else message.channel)
        if result.sent_at is not None:
            sent += 1
        elif result.next_try_at is not None:
            delayed += 1
        else:
            given_up += 1
    return Sent(sent=sent, delayed=delayed, given_up=given_up)


def _reserve_next(
    rows: Rows, without: Collection[str], now: datetime
) -> Message | None:
    """Return the oldest message that is due, reserved for this call; None if none is."""
    columns = ("message_id", "channel", "created_at", "next_try_at")
    waiting = rows.frame(Message, None, columns, sent_at=[None])
    due: list[tuple[datetime, str]] = []
    for message_id, channel, created_at, next_try_at in waiting.iter_rows():
        if next_try_at is None:
            continue
        if next_try_at > now:
            continue
        if channel in without:
            continue
        if SUBSCRIPTION in without and channel.startswith(SUBSCRIPTION):
            continue
        due.append((created_at, message_id))
    if not due:
        return None
    _, oldest = min(due)
    [message] = rows.read(Message, message_id=[oldest])
    rows.upsert([replace(message, next_try_at=now + RESERVED)])
    return message


def _attempt(send: _Send, message: Message, clock: Clock) -> tuple[Message, bool]:
    """Return the message after an attempt, and whether no subscriber can be reached."""
    tried = replace(message, attempts=message.attempts + 1)
    try:
        send(message)
    except NotifyError as error:
        next_try_at = _retry_at(tried.attempts, error, clock())
        failed = replace(tried, reason=str(error), next_try_at=next_try_at)
        is_subscriber = message.channel.startswith(SUBSCRIPTION)
        return failed, is_subscriber and error.is_unreachable
    return replace(tried, reason=None, next_try_at=None, sent_at=clock()), False


def _retry_at(attempts: int, error: NotifyError, now: datetime) -> datetime | None:
    """Return when a failed message is sent again; None if that cannot help, or after
    all attempts.
    """
    pause_s = MESSAGE.pause_s(attempts)
    if not error.is_transient:
        return None
    if pause_s is None:
        return None
    pause_s = max(pause_s, error.retry_after_s or 0.0)
    return now + timedelta(seconds=min(pause_s, MESSAGE.longest_s))


def send_again(
    rows: Rows, message_ids: Collection[str] | None, now: datetime
) -> list[Message]:
    """Make these given up messages due, or all of them, with all attempts again; return
    them.
    """
    found = rows.read(Message, sent_at=[None], next_try_at=[None])
    chosen: list[Message] = []
    for one in found:
        if message_ids is None or one.message_id in message_ids:
            chosen.append(replace(one, attempts=0, next_try_at=now))
    if chosen:
        rows.upsert(chosen)
    return chosen


def replay(rows: Rows, message_id: str, now: datetime) -> bool:
    """Make a message due that was delivered or given up, with all attempts again; return
    whether there is such a message.
    """
    found = rows.read(Message, message_id=[message_id], next_try_at=[None])
    if not found:
        return False
    again = replace(found[0], attempts=0, next_try_at=now, sent_at=None, reason=None)
    rows.upsert([again])
    return True
