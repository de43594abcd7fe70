"""What a collection has of a desk, without its texts.

A desk and days enter; a frame of ids and hashes leaves. While the server replays its log, what it shows is only a part:
then it is an error that waiting mends.
"""

import io
import time
from datetime import date
from typing import TYPE_CHECKING

from news_assets.clients.search.typesense.connection import TypesenseConnection
from news_assets.clients.search.typesense.documents import day_number
from news_assets.clients.search.typesense.errors import failure
from news_assets.clients.search.typesense.query import desk_filter
from news_assets.records import AgencyDays

if TYPE_CHECKING:
    import polars as pl

_QUEUE_PAUSE_S = 0.25
_READY_STATES = ("LEADER", "FOLLOWER")


def wait_until_replayed(connection: TypesenseConnection) -> None:
    """Return once the server has no writes waiting.

    Raises:
        IndexingError: It still has; transient.
    """
    ends = time.monotonic() + connection.queue_wait_s
    while True:
        status = connection.call("get", "/status")
        queued, state = int(status.get("queued_writes", 0)), str(status.get("state", ""))
        if not queued and state in _READY_STATES:
            return
        if time.monotonic() >= ends:
            reason = f"{queued} writes are waiting (state {state}), as after a restart: what it shows is a part; wait"
            raise failure(connection.where, reason, is_transient=True)
        time.sleep(_QUEUE_PAUSE_S)


def stored_frame(
    connection: TypesenseConnection, name: str, desk: str, keys: AgencyDays | None, first_day: date | None
) -> "pl.DataFrame":
    """Return article_id, agency, day and document_hash of what a desk has: all, or of some days."""
    import polars as pl

    wait_until_replayed(connection)
    columns = {"id": pl.String, "agency": pl.String, "day": pl.Int64, "document_hash": pl.String}
    lines = ""
    if keys is None or keys.pairs:
        filter_by = " && ".join([desk_filter(desk), *_day_filters(keys, first_day)])
        lines = connection.export(name, tuple(columns), filter_by)
    frame = pl.read_ndjson(io.StringIO(lines), schema=columns) if lines.strip() else pl.DataFrame(schema=columns)
    frame = frame.select(
        pl.col("id").alias("article_id"),
        "agency",
        pl.date(pl.col("day") // 10_000, pl.col("day") // 100 % 100, pl.col("day") % 100).alias("day"),
        pl.col("document_hash").fill_null(""),
    )
    if keys is None:
        return frame
    wanted = pl.DataFrame(list(keys.pairs), {"agency": pl.String, "day": pl.Date}, orient="row")
    return frame.join(wanted, on=("agency", "day"), how="semi")


def _day_filters(keys: AgencyDays | None, first_day: date | None) -> list[str]:
    if keys is not None:
        days = {day for _, day in keys.pairs}
        return [f"day:>={day_number(min(days))}", f"day:<={day_number(max(days))}"]
    return [f"day:>={day_number(first_day)}"] if first_day else []
