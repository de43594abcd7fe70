"""The asset `feed_entries`: what the sources of a desk list now."""

import uuid
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import cast

import dagster as dg
from pydantic import Field

from news_assets.defs.clock import utc_now
from news_assets.defs.metadata import asset_attributes, markdown_table, sources_table
from news_assets.defs.partitions import agency_partitions
from news_assets.defs.retention import NOTHING_NEW
from news_assets.pipeline.freshness.source_health import ANSWERS
from news_assets.pipeline.poll.agencies import poll_agencies
from news_assets.pipeline.poll.poll import lists_past
from news_assets.ports import Fetcher
from news_assets.ports import Lake as LakePort
from news_assets.records import Desk, FeedEntry, Poll
from news_assets.sources.kinds import adapter_of
from news_assets.store.lake import Lake
from news_assets.store.queries.source_status import source_rows

_HEADER = ("source", "outcome", "reason", "listed", "new", "updated")


class PollConfig(dg.Config):
    """What a run may ask of `feed_entries`."""

    only_due: bool = Field(False, description="ask only the sources that are due, as the sensor does")
    ask_again: bool = Field(False, description="ask also the sources that were asked a moment ago")
    from_day: str = Field("", description="ask sources that can list their past for the days from this one (ISO)")
    to_day: str = Field("", description="last of those days (ISO); yesterday in UTC without it")

    def past(self, now: datetime) -> tuple[date, date] | None:
        """Return first and last day of the past to ask for, if any. Raises dg.Failure for what is no such span."""
        if not self.from_day:
            if self.to_day:
                raise dg.Failure(f"to_day {self.to_day} is the last of the days to ask for; name the first in from_day")
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
        **asset_attributes(desk, "feed_entries", FeedEntry, "rss"),
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
        cooldown: dg.ResourceParam[timedelta],
    ) -> Iterator[dg.Output[None]]:
        """Entries that the sources of these agencies list, one row per entry as it was last seen.

        Every source is asked now, but those that were asked a moment ago (`ask_again` asks them too); or with
        `only_due` those that are due. Validators are stored together with all entries of the document or not at all.
        Only agencies that listed something new or changed are materialised. A source that fails is a row in `polls`
        with its reason; the run fails where no source at all could be read.

        With `from_day` the sources that can list their past (listing pages, JSON searches, sitemaps; feeds cannot) are
        asked for days gone by; the day assets then take what they listed. It fails where no source can.
        """
        agencies, now = set(context.partition_keys), utc_now()
        past = config.past(now)
        if past is not None:
            _check_past(desk, agencies)
        polls = poll_agencies(
            cast("LakePort", lake),  # a transaction of its own has more than the port's
            desk,
            agencies,
            fetcher,
            adapter_of,
            now,
            uuid.uuid4().hex,
            only_due=config.only_due,
            past=past,
            cooldown=timedelta(0) if config.ask_again else cooldown,
        )
        _report(context, lake, desk, list(polls))
        yield from ()  # what came in is logged by agency: an agency without news leaves no event

    return feed_entries


def _check_past(desk: Desk, agencies: Collection[str]) -> None:
    """Raise dg.Failure where none of the sources can be asked for days gone by."""
    sources = [source for source in desk.sources if source.agency in agencies]
    if sources and not any(lists_past(source, adapter_of) for source in sources):
        kinds = ", ".join(sorted({source.kind for source in sources}))
        raise dg.Failure(
            f"none of the {len(sources)} sources of these agencies can list its past (kinds: {kinds}); "
            "without from_day they are asked what they list now"
        )


def _report(context: dg.AssetExecutionContext, lake: Lake, desk: Desk, polls: Sequence[Poll]) -> None:
    """Log every poll, materialise the agencies with news, and fail where every source that was asked failed."""
    context.log.info("polled:\n" + "\n".join(" | ".join(map(str, row)) for row in (_HEADER, *_rows(polls))))
    heard = _materialise(context, lake, desk, polls)
    asked = [poll for poll in polls if poll.outcome != "skipped"]
    if asked and all(poll.outcome not in ANSWERS for poll in asked):
        raise dg.Failure(
            f"none of {len(asked)} sources could be read; the first: {asked[0].source_id}: {asked[0].reason}",
            metadata={"polls": dg.MetadataValue.md(markdown_table(_HEADER, _rows(polls)))},
        )
    if polls and not asked:
        context.log.warning(f"no source was asked: each was asked a moment ago; the first: {polls[0].reason}")
    if not heard:
        context.instance.add_run_tags(context.run.run_id, NOTHING_NEW)


def _materialise(context: dg.AssetExecutionContext, lake: Lake, desk: Desk, polls: Sequence[Poll]) -> Collection[str]:
    """Log a materialisation of each agency with news, and return these agencies."""
    heard = sorted({poll.agency for poll in polls if poll.new_count or poll.updated_count})
    now = utc_now()
    of_heard = replace(desk, agencies=tuple(agency for agency in desk.agencies if agency.key in heard))
    sources = list(source_rows(lake, of_heard, None, now)) if heard else []
    for agency in heard:
        mine = [poll for poll in polls if poll.agency == agency]
        metadata: dict[str, dg.RawMetadataValue] = {
            "new": sum(poll.new_count for poll in mine),
            "updated": sum(poll.updated_count for poll in mine),
            "polls": dg.MetadataValue.md(markdown_table(_HEADER, _rows(mine))),
            "sources": sources_table([row for row in sources if row["agency"] == agency], now),
        }
        context.log_event(dg.AssetMaterialization([desk.key, "feed_entries"], partition=agency, metadata=metadata))
    return heard


def _rows(polls: Sequence[Poll]) -> list[tuple[object, ...]]:
    return [(p.source_id, p.outcome, p.reason, p.entry_count, p.new_count, p.updated_count) for p in polls]
