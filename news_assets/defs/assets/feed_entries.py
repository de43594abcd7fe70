"""The asset `feed_entries`: what the sources of a desk list now."""

import uuid
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta

import dagster as dg
from pydantic import Field

from news_assets.defs.clock import utc_now
from news_assets.defs.partitions import agency_partitions
from news_assets.defs.presentation import asset_look, markdown_table
from news_assets.defs.retention import NOTHING_NEW
from news_assets.pipeline.stages import poll_agencies
from news_assets.ports import Fetcher, Lake
from news_assets.records import Desk, FeedEntry, Poll
from news_assets.sources.kinds import adapter_of

_HEADER = ("source", "outcome", "reason", "listed", "new", "updated")


class PollConfig(dg.Config):
    """What a run may ask of `feed_entries`."""

    only_due: bool = Field(False, description="ask only the sources that are due, as the sensor does")
    from_day: str = Field("", description="ask sources that can list their past for the days from this one (ISO)")
    to_day: str = Field("", description="last of those days (ISO); yesterday in UTC without it")

    def past(self, now: datetime) -> tuple[date, date] | None:
        """Return first and last day of the past to ask for, if any. Raises dg.Failure for what is no such span."""
        if not self.from_day and not self.to_day:
            return None
        try:
            first = date.fromisoformat(self.from_day)
            last = date.fromisoformat(self.to_day) if self.to_day else now.date() - timedelta(days=1)
        except ValueError as error:
            raise dg.Failure(f"from_day and to_day take days such as 2026-01-31: {error}") from error
        if not first <= last < now.date():
            raise dg.Failure(f"from_day {first} to to_day {last} is no span of days before today")
        return first, last


def build_feed_entries(desk: Desk) -> dg.AssetsDefinition:
    """Return the asset of this desk."""

    @dg.asset(
        **asset_look(desk, FeedEntry, "rss"),
        partitions_def=agency_partitions(desk),
        backfill_policy=dg.BackfillPolicy.single_run(),
        output_required=False,
        code_version="1",
    )
    def feed_entries(
        context: dg.AssetExecutionContext,
        config: PollConfig,
        lake: dg.ResourceParam[Lake],
        fetcher: dg.ResourceParam[Fetcher],
    ) -> Iterator[dg.Output[None]]:
        """Entries that the sources of these agencies list, one row per entry as it was last seen.

        Every source is asked now, or with `only_due` those that are due. Validators are stored together with all
        entries of the document or not at all. Only agencies that listed something new or changed are materialised. A
        source that fails is a row in `polls` with its reason; the run fails where no source at all could be read.

        With `from_day` the sources that can list their past (listing pages, JSON searches, sitemaps; feeds cannot) are
        asked for days gone by; the day assets then take what they listed.
        """
        agencies, trace_id = set(context.partition_keys), uuid.uuid4().hex
        now = utc_now()
        polls = poll_agencies(
            lake,
            desk,
            agencies,
            fetcher,
            adapter_of,
            now,
            trace_id,
            only_due=config.only_due,
            past=config.past(now),
        )
        _report(context, desk, list(polls))
        yield from ()  # what came in is logged by agency: an agency without news leaves no event

    return feed_entries


def _report(context: dg.AssetExecutionContext, desk: Desk, polls: Sequence[Poll]) -> None:
    """Log every poll, materialise the agencies with news, and fail where every source failed."""
    rows = _rows(polls)
    context.log.info("polled:\n" + "\n".join(" | ".join(map(str, row)) for row in (_HEADER, *rows)))
    heard = sorted({poll.agency for poll in polls if poll.new_count or poll.updated_count})
    for agency in heard:
        mine = [poll for poll in polls if poll.agency == agency]
        metadata: dict[str, dg.RawMetadataValue] = {
            "new": sum(poll.new_count for poll in mine),
            "updated": sum(poll.updated_count for poll in mine),
            "polls": dg.MetadataValue.md(markdown_table(_HEADER, _rows(mine))),
        }
        context.log_event(dg.AssetMaterialization([desk.key, "feed_entries"], partition=agency, metadata=metadata))
    if polls and all(poll.outcome not in ("ok", "unchanged") for poll in polls):
        raise dg.Failure(
            f"none of {len(polls)} sources could be read; the first: {polls[0].source_id}: {polls[0].reason}",
            metadata={"polls": dg.MetadataValue.md(markdown_table(_HEADER, rows))},
        )
    if not heard:
        context.instance.add_run_tags(context.run.run_id, NOTHING_NEW)


def _rows(polls: Sequence[Poll]) -> list[tuple[object, ...]]:
    return [(p.source_id, p.outcome, p.reason, p.entry_count, p.new_count, p.updated_count) for p in polls]
