"""Makes a listed meeting of a stored one, whose items are requested without a new
listing.
"""

import json

from news_assets.records.meetings import (
    Link,
    Location,
    Meeting,
    MeetingStatus,
    StoredMeeting,
)
from news_assets.sources.civic.reading.participation import participation_of
from news_assets.text.zones import zone_info

_STATUSES: dict[str, MeetingStatus] = {
    "confirmed": "confirmed",
    "cancelled": "cancelled",
    "passed": "passed",
}


def listed_again(row: StoredMeeting, timezone: str) -> Meeting:
    """Return a stored meeting as its source last listed it, with what its own pages
    added.
    """
    zone = zone_info(timezone)
    return Meeting(
        vendor_id=row.vendor_id,
        agenda_id=row.agenda_id,
        title=row.title,
        body=row.body,
        starts_at=row.starts_at.astimezone(zone) if row.starts_at else None,
        ends_at=row.ends_at.astimezone(zone) if row.ends_at else None,
        all_day=row.is_all_day,
        status=_STATUSES.get(row.status, "tentative"),
        location=Location(name=row.location_name, address=row.location_address),
        url=row.url,
        agenda_url=row.agenda_url,
        packet_url=row.packet_url,
        minutes_url=row.minutes_url,
        video_url=row.video_url,
        links=tuple(Link(**link) for link in json.loads(row.links_json)),
        comment=row.comment,
        participation=participation_of(row.comment),
    )
