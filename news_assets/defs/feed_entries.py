"""The asset `feed_entries`: the entries that the sources of a desk list; and `meetings` and
`matters` of a civic desk, which its polls write in the transaction of the entries.
"""

import uuid
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta

import dagster as dg
from pydantic import Field

from news_assets.defs.active_runs import NOTHING_NEW, polled_sources, runs_before
from news_assets.defs.asset_metadata import (
    SOURCES,
    asset_attributes,
    link,
    markdown_table,
    publisher_page,
    sources_table,
)
from news_assets.defs.partitions import (
    agency_partitions,
    partitions_of_run,
    utc_now,
)
from news_assets.pipeline.freshness.source_health import ANSWERS
from news_assets.ports.services import Fetcher, Sandbox
from news_assets.records.articles import FeedEntry, Poll
from news_assets.records.desks import Desk
from news_assets.records.meetings import Matter, StoredMeeting
from news_assets.sources.source_kinds import adapter_of
from news_assets.store.lake import Lake
from news_assets.store.queries.poll_health import source_rows
from news_assets.text.defuse import terminal_line

_HEADER = ("source", "outcome", "reason", "listed", "new", "updated")


class PollConfig(dg.Config):
    """Run configuration of `feed_entries`."""

    only_due: bool = Field(
        False, description="poll only the sources that are due, as the sensor does"
    )
    ask_again: bool = Field(
        False, description="poll also the sources that were polled a moment ago"
    )
    sources: list[str] = Field(
        [], description="poll only these sources, by id; default: all of the agencies"
    )
    from_day: str = Field(
        "",
        description="first past day (ISO) to poll, for sources that can list past days",
    )
    to_day: str = Field(
        "", description="last past day (ISO) to poll; default: yesterday in UTC"
    )

    def past(self, now: datetime) -> tuple[date, date] | None:
        """Return the first and the last past day to poll, if any. Raises dg.Failure if
        they are not past days.
        """
        if not self.from_day:
            if self.to_day:
                raise dg.Failure(
                    f"to_day {self.to_day} is set without from_day, the first day to poll"
                )
            return None
        try:
            first = date.fromisoformat(self.from_day)
            last = now.date() - timedelta(days=1)
            if self.to_day:
                last = date.fromisoformat(self.to_day)
        except ValueError as error:
            raise dg.Failure(
                f"from_day and to_day are dates such as 2026-01-31: {error}"
            ) from error
        if not first <= last < now.date():
            raise dg.Failure(
                f"from_day {first} to to_day {last} is not a range of days before today"
            )
        return first, last


def build_feed_entries(desk: Desk, pages_url: str = "") -> dg.AssetsDefinition:
    """Return the asset of this desk; `pages_url` is where pages are served, for links."""

    @dg.asset(
        **asset_attributes(desk, "feed_entries", FeedEntry, "rss"),
        deps=[[desk.key, SOURCES]],
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
        sandbox: dg.ResourceParam[Sandbox],
        cooldown: dg.ResourceParam[timedelta],
    ) -> Iterator[dg.Output[None]]:
        """Entries that the sources of these agencies list, one row per entry as it was
        last listed.

        Polls every source except those polled a moment ago and those that an earlier
        run polls now (`ask_again` includes both), or with `only_due` those that are
        due, and leaves to the next run what it has no time for. Validators are stored
        in the same transaction as all entries of the document. Only agencies with new
        or changed entries are materialised. A failed poll is a row in `polls` with its
        reason; the run fails if every poll failed. Without `only_due`, all meetings and
        agendas of a nightly pass are requested from councils.

        With `from_day`, sources that can list past days (listing pages, JSON searches,
        sitemaps; not feeds) are polled for those days, and the agency-day assets then
        process the entries. The run fails if no source can.
        """
        from news_assets.pipeline.poll.poll import poll_agencies

        agencies = set(partitions_of_run(context, desk))
        past = config.past(utc_now())
        if past is not None:
            _check_past(desk, agencies)
        earlier = runs_before(context.instance, context.run.run_id)
        polls = poll_agencies(
            lake,
            desk,
            agencies,
            fetcher,
            sandbox,
            adapter_of,
            utc_now,
            uuid.uuid4().hex,
            only_due=config.only_due,
            only=config.sources or None,
            busy=() if config.ask_again else polled_sources(desk, earlier),
            past=past,
            full_pass=not config.only_due and past is None,
            cooldown=timedelta(0) if config.ask_again else cooldown,
        )
        _report(context, lake, desk, list(polls), pages_url)
        # materialisations are logged by agency: an agency without new entries has none
        yield from ()

    return feed_entries


def _check_past(desk: Desk, agencies: Collection[str]) -> None:
    """Raise dg.Failure if none of the sources can list past days."""
    from news_assets.pipeline.poll.listings import can_list_past

    sources = [source for source in desk.sources if source.agency in agencies]
    if sources and not any(can_list_past(source, adapter_of) for source in sources):
        kinds = ", ".join(sorted({source.kind for source in sources}))
        raise dg.Failure(
            f"none of the {len(sources)} sources of these agencies can list past days (kinds:"
            f" {kinds}); run without from_day to poll what they list now"
        )


def _report(
    context: dg.AssetExecutionContext,
    lake: Lake,
    desk: Desk,
    polls: Sequence[Poll],
    pages_url: str,
) -> None:
    """Log every poll, materialise the agencies with new or changed entries, and fail if
    every poll failed.
    """
    rows = [_HEADER, *_rows(polls)]
    lines = [terminal_line(" | ".join(map(str, row))) for row in rows]
    context.log.info("polled:\n" + "\n".join(lines))
    changed = _materialise(context, lake, desk, polls, pages_url)
    polled = [poll for poll in polls if poll.outcome != "skipped"]
    if polled and all(poll.outcome not in ANSWERS for poll in polled):
        raise dg.Failure(
            terminal_line(
                f"none of {len(polled)} sources could be read; the first: {polled[0].source_id}:"
                f" {polled[0].reason}"
            ),
            metadata={
                "polls": dg.MetadataValue.md(markdown_table(_HEADER, _rows(polls)))
            },
        )
    if polls and not polled:
        context.log.warning(
            terminal_line(f"every source was skipped; the first: {polls[0].reason}")
        )
    if not changed:
        context.instance.add_run_tags(context.run.run_id, NOTHING_NEW)


def _materialise(
    context: dg.AssetExecutionContext,
    lake: Lake,
    desk: Desk,
    polls: Sequence[Poll],
    pages_url: str,
) -> Collection[str]:
    """Log a materialisation of each agency with new or changed entries, and return
    these agencies.
    """
    changed = sorted({poll.agency for poll in polls if _has_news(poll)})
    if not changed:
        return []
    now = utc_now()
    agencies = tuple(agency for agency in desk.agencies if agency.key in changed)
    changed_desk = replace(desk, agencies=agencies)
    sources = list(source_rows(lake, changed_desk, None, now))
    for agency in changed:
        of_agency = [poll for poll in polls if poll.agency == agency]
        own_sources = [row for row in sources if row["agency"] == agency]
        polled_at = max(poll.polled_at for poll in of_agency)
        metadata: dict[str, dg.RawMetadataValue] = {
            "polled_at": dg.MetadataValue.timestamp(polled_at),
            "new": sum(poll.new_count for poll in of_agency),
            "updated": sum(poll.updated_count for poll in of_agency),
            "polls": dg.MetadataValue.md(markdown_table(_HEADER, _rows(of_agency))),
            "sources": sources_table(own_sources, now),
            **link("page", publisher_page(pages_url, desk.key, agency)),
        }
        context.log_event(
            dg.AssetMaterialization(
                [desk.key, "feed_entries"], partition=agency, metadata=metadata
            )
        )
    if desk.is_civic:
        _log_meetings(context, lake, desk, changed)
    return changed


def _has_news(poll: Poll) -> bool:
    return poll.new_count > 0 or poll.updated_count > 0


def _rows(polls: Sequence[Poll]) -> list[tuple[object, ...]]:
    return [
        (p.source_id, p.outcome, p.reason, p.entry_count, p.new_count, p.updated_count)
        for p in polls
    ]


def build_meeting_specs(desk: Desk) -> list[dg.AssetSpec]:
    """Return the assets of a desk that `_log_meetings` materialises; none for a desk
    without meetings.
    """
    if not desk.is_civic:
        return []
    meetings = asset_attributes(desk, "meetings", StoredMeeting, "json")
    matters = asset_attributes(desk, "matters", Matter, "json")
    grid = agency_partitions(desk)
    return [
        dg.AssetSpec(
            **meetings,
            deps=[[desk.key, "feed_entries"]],
            partitions_def=grid,
            description=(
                "Meetings of these agencies as they were last listed, future and past, with their"
                " status.\n\nA future meeting that two successive answers lack is cancelled; a"
                " failed answer changes nothing."
            ),
        ),
        dg.AssetSpec(
            **matters,
            deps=[[desk.key, "meetings"]],
            partitions_def=grid,
            description=(
                "What is decided on in one or several meetings, with its agenda items and its last"
                " summary.\n\nA matter is known by its public number, else by the vendor's id, else"
                " by a title of 30 characters."
            ),
        ),
    ]


def _log_meetings(
    context: dg.AssetExecutionContext, lake: Lake, desk: Desk, agencies: Collection[str]
) -> None:
    """Log a materialisation of both assets for each of these agencies, with the number
    of its rows.
    """
    statuses = Counter(
        lake.frame(
            StoredMeeting, None, ("agency", "status"), desk=[desk.key], agency=agencies
        ).rows()
    )
    matters = Counter(
        lake.frame(Matter, None, ("agency",), desk=[desk.key], agency=agencies)[
            "agency"
        ]
    )
    for agency in agencies:
        of_agency = {
            status: count for (of, status), count in statuses.items() if of == agency
        }
        counts: dict[str, dg.RawMetadataValue] = {
            "rows": sum(of_agency.values()),
            **of_agency,
        }
        context.log_event(
            dg.AssetMaterialization(
                [desk.key, "meetings"], partition=agency, metadata=counts
            )
        )
        rows = {"rows": matters[agency]}
        context.log_event(
            dg.AssetMaterialization(
                [desk.key, "matters"], partition=agency, metadata=rows
            )
        )
