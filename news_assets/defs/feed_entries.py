"""The asset `feed_entries`: the entries that the sources of a desk list; and `meetings` and
`matters` of a civic desk, which its polls write in the transaction of the entries.
"""

import uuid
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from operator import attrgetter

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
from news_assets.pipeline.source_health import ANSWERS
from news_assets.ports.services import Fetcher, Sandbox
from news_assets.records.articles import FeedEntry, Poll
from news_assets.records.desks import Desk
from news_assets.records.meetings import Matter, StoredMeeting
from news_assets.sources.source_kinds import adapter_of
from news_assets.store.lake import Lake
from news_assets.store.queries.poll_health import source_rows
from news_assets.text.defuse import terminal_line

_HEADER = ("source", "outcome", "reason", "listed", "new", "updated")
_COLUMNS = (
    "source_id",
    "outcome",
    "reason",
    "entry_count",
    "new_count",
    "updated_count",
)


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
        from news_assets.pipeline.poll.poll import PollOptions, poll_agencies

        agencies = set(partitions_of_run(context, desk))
        past = config.past(utc_now())
        if past is not None:
            _check_past(desk, agencies)
        busy: Collection[str] = ()
        if config.ask_again:
            cooldown = timedelta(0)
        else:
            earlier = runs_before(context.instance, context.run.run_id)
            busy = polled_sources(desk, earlier)
        polls = poll_agencies(
            lake,
            desk,
            agencies,
            fetcher,
            sandbox,
            adapter_of,
            utc_now,
            uuid.uuid4().hex,
            options=PollOptions(
                only_due=config.only_due,
                only=config.sources or None,
                busy=busy,
                past=past,
                full_pass=not config.only_due and past is None,
                cooldown=cooldown,
            ),
        )
        _report(context, lake, desk, list(polls), pages_url)
        # materialisations are logged by agency: an agency without new entries has none
        yield from ()

    return feed_entries


def _check_past(desk: Desk, agencies: Collection[str]) -> None:
    """Raise dg.Failure if none of the sources can list past days."""
    from news_assets.pipeline.poll.listings import can_list_past

    kinds: Counter[str] = Counter()
    for source in desk.sources:
        if source.agency not in agencies:
            continue
        if can_list_past(source, adapter_of):
            return
        kinds[source.kind] += 1
    if kinds:
        named = ", ".join(sorted(kinds))
        raise dg.Failure(
            f"none of the {kinds.total()} sources of these agencies can list past days (kinds:"
            f" {named}); run without from_day to poll what they list now"
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
    lines = ["polled:"]
    for row in (_HEADER, *_rows(polls)):
        lines.append(terminal_line(" | ".join(map(str, row))))
    context.log.info("\n".join(lines))
    changed = _materialise(context, lake, desk, polls, pages_url)
    outcomes = {poll.outcome for poll in polls}
    if outcomes == {"skipped"}:
        context.log.warning(
            terminal_line(f"every source was skipped; the first: {polls[0].reason}")
        )
    elif outcomes and outcomes.isdisjoint(ANSWERS):
        raise _nothing_read(polls)
    if not changed:
        context.instance.add_run_tags(context.run.run_id, NOTHING_NEW)


def _nothing_read(polls: Sequence[Poll]) -> dg.Failure:
    polled = [poll for poll in polls if poll.outcome != "skipped"]
    text = (
        f"none of {len(polled)} sources could be read; the first: {polled[0].source_id}:"
        f" {polled[0].reason}"
    )
    return dg.Failure(terminal_line(text), metadata={"polls": _table(polls)})


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
    sources = defaultdict(list)
    for row in source_rows(lake, replace(desk, agencies=agencies), None, now):
        sources[row["agency"]].append(row)
    for agency in changed:
        of_agency = [poll for poll in polls if poll.agency == agency]
        metadata = {
            **_counts(of_agency),
            "polls": _table(of_agency),
            "sources": sources_table(sources[agency], now),
            **link("page", publisher_page(pages_url, desk.key, agency)),
        }
        _log(context, desk, "feed_entries", agency, metadata)
    if desk.is_civic:
        _log_meetings(context, lake, desk, changed)
    return changed


def _counts(polls: Sequence[Poll]) -> "dict[str, dg.RawMetadataValue]":
    polled_at = max(poll.polled_at for poll in polls)
    return {
        "polled_at": dg.MetadataValue.timestamp(polled_at),
        "new": sum(poll.new_count for poll in polls),
        "updated": sum(poll.updated_count for poll in polls),
    }


def _log(
    context: dg.AssetExecutionContext,
    desk: Desk,
    asset: str,
    agency: str,
    metadata: "Mapping[str, dg.RawMetadataValue]",
) -> None:
    """Log the materialisation of an agency's partition of one of the desk's assets."""
    event = dg.AssetMaterialization(
        [desk.key, asset], partition=agency, metadata=metadata
    )
    context.log_event(event)


def _has_news(poll: Poll) -> bool:
    return poll.new_count > 0 or poll.updated_count > 0


def _rows(polls: Sequence[Poll]) -> list[tuple[object, ...]]:
    return list(map(attrgetter(*_COLUMNS), polls))


def _table(polls: Sequence[Poll]) -> dg.MarkdownMetadataValue:
    return dg.MetadataValue.md(markdown_table(_HEADER, _rows(polls)))


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
    of = {"desk": [desk.key], "agency": agencies}
    statuses = lake.frame(StoredMeeting, None, ("agency", "status"), **of)
    matters = lake.frame(Matter, None, ("agency",), **of)
    matter_counts = Counter(matters["agency"])
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for agency, status in statuses.rows():
        counts[agency][status] += 1
    for agency in agencies:
        meetings = {"rows": counts[agency].total(), **counts[agency]}
        _log(context, desk, "meetings", agency, meetings)
        _log(context, desk, "matters", agency, {"rows": matter_counts[agency]})
