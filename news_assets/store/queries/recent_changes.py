"""The changes of meetings and articles that readers can follow, and whether there are
new ones.
"""

from datetime import datetime
from typing import Final

from news_assets.pipeline.alerts.hits import RecentChange
from news_assets.ports.services import Reader

_OF_MEETINGS: Final = """
    SELECT c.kind, c.changed_at, coalesce(nullif(c.item_id, ''), c.meeting_id),
        list(i.article_id ORDER BY i.sequence)
    FROM meeting_changes c
    JOIN agenda_items i ON i.meeting_id = c.meeting_id AND c.item_id IN ('', i.item_id)
    WHERE c.changed_at > $since AND i.article_id IS NOT NULL
        AND c.kind IN ('cancelled', 'moved', 'agenda', 'document', 'voted')
    GROUP BY ALL
"""
_EDITED: Final = """
    SELECT 'edited', r.replaced_at, article_id, [article_id]
    FROM article_revisions r JOIN raw_articles a USING (article_id)
    WHERE r.cause != 'method' AND r.replaced_at > $since AND a.outcome = 'ok'
        AND a.meeting_id = '' AND (a.updated_at IS NULL OR a.updated_at <= r.fetched_at)
"""
_WITHDRAWN: Final = """
    SELECT 'withdrawn', max(committed_at), article_id, [article_id]
    FROM changes WHERE change = 'withdrawn' AND committed_at > $since GROUP BY article_id
"""
_NEWEST: Final = "SELECT max(changed_at) FROM meeting_changes"


def recent_changes(lake: Reader, since: datetime) -> list[RecentChange]:
    """Return the changes since a time, the oldest first."""
    sql = f"{_OF_MEETINGS} UNION ALL {_EDITED} UNION ALL {_WITHDRAWN} ORDER BY ALL"
    found = lake.query(sql, {"since": since})
    return [
        RecentChange(kind, at, about, tuple(articles))
        for kind, at, about, articles in found.iter_rows()
    ]


def newest_meeting_change(lake: Reader) -> datetime | None:
    """Return the time of the newest change of a meeting; None without any."""
    [newest] = lake.query(_NEWEST).row(0)
    return newest  # type: ignore[no-any-return]
