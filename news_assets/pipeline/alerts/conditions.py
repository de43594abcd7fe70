"""Operators' messages: one when a state becomes bad and one when that is over, never
one for each look at it.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from news_assets.pipeline.alerts.digests import messages_to
from news_assets.pipeline.alerts.spec import Operators
from news_assets.ports.lake import Rows
from news_assets.records.alerts import OPERATORS, Condition, Message

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
