"""The asset `newsroom/alerts`: tells new hits of saved queries, and operators what
became bad or is over. Its sensor requests a run where there is something to tell, and
now and then a look at all states.
"""

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache, partial
from pathlib import Path

import dagster as dg
from pydantic import Field

from news_assets.defs.active_runs import is_running
from news_assets.defs.asset_metadata import OWNERS, tables_of
from news_assets.defs.jobs import ALERTS, Jobs, job_named
from news_assets.defs.partitions import utc_now
from news_assets.errors import NewsAssetsError, SettingsError
from news_assets.pipeline.alerts.hits import (
    FOLLOWER,
    Matcher,
    change_hits,
    follow,
    restart,
)
from news_assets.pipeline.alerts.outbox import (
    publishers_of,
    send_due,
    tell_conditions,
    tell_hits,
)
from news_assets.pipeline.alerts.query_file import Alerts, load_alerts, with_stored
from news_assets.pipeline.alerts.subscriptions import (
    delete_expired,
    expired,
    with_subscriptions,
)
from news_assets.ports.services import Rows
from news_assets.records.alerts import ChangeHit, Follower, Message, QueryHit
from news_assets.records.derived import Change
from news_assets.records.desks import Desk
from news_assets.settings import Settings
from news_assets.store.lake import Lake
from news_assets.store.queries.changes import (
    Cursor,
    CursorError,
    has_change,
    newest_cursor,
    newest_meeting_change,
    read_changes,
    recent_changes,
)
from news_assets.store.queries.freshness import bad_states

_ALERTS_KEY = dg.AssetKey(["newsroom", "alerts"])
_CHANGES_FOLLOWER = "meeting changes"
_LOOKED_BACK = timedelta(days=1)
# that are compared with the queries in one transaction: 0.3 s with 1,000 queries
_CHANGES = 500


class _AlertsConfig(dg.Config):
    """Run configuration of `newsroom/alerts`."""

    look: bool = Field(
        True, description="look also at the states that operators are told"
    )


def build_alerts(
    desks: Sequence[Desk], checks: Iterable[dg.AssetChecksDefinition]
) -> dg.AssetsDefinition:
    """Return the asset over all desks; operators are told the results of `checks`."""
    keys = set[dg.AssetCheckKey]()
    for check in checks:
        keys |= check.check_keys
    check_keys = sorted(keys)

    @dg.asset(
        key=_ALERTS_KEY,
        group_name="newsroom",
        owners=OWNERS,
        kinds={"python"},
        deps=tables_of(desks),
        code_version="1",
    )
    def alerts(
        context: dg.AssetExecutionContext,
        config: _AlertsConfig,
        lake: dg.ResourceParam[Lake],
    ) -> dg.MaterializeResult[None]:
        """Messages about new articles that match a saved query, and about states that
        became bad or are over.

        Follows the record of changes: each article that is new in the index is compared
        with the queries of NEWS_QUERIES and of the pages, and told once for each query
        that it matches. Messages that a channel does not accept are sent again later.
        Can be repeated at any time.
        """
        keys = check_keys if config.look else None
        try:
            return dg.MaterializeResult(metadata=_tell(context, lake, desks, keys))
        except NewsAssetsError as error:
            raise dg.Failure(str(error)) from error

    return alerts


def _tell(
    context: dg.AssetExecutionContext,
    lake: Lake,
    desks: Sequence[Desk],
    check_keys: Sequence[dg.AssetCheckKey] | None,
) -> dict[str, int]:
    """Store hits and messages, send what is due, and return the counts; with the keys
    of checks, also look at the states that operators are told.
    """
    from news_assets.clients.factory import open_notifier

    settings = Settings.read()
    rules, problems = with_stored(load_alerts(settings.queries), lake)
    if settings.takes_subscriptions:
        _drop_unconfirmed(lake)
        rules = with_subscriptions(rules, lake)
    for problem in problems.values():
        context.log.warning(problem)
    hits = _follow(context, lake, rules, desks)
    hits += _follow_changes(lake, rules, desks)
    publishers = publishers_of(desks)
    told = lake.transact(lambda rows: tell_hits(rows, rules, utc_now(), publishers))
    if check_keys is not None:
        find = partial(_check_states, context.instance, check_keys)
        told += _look(lake, desks, rules, problems, settings, find)
    with open_notifier(settings, rules, lake) as notifier:
        sent = send_due(lake, notifier.send, utc_now)
    return {
        "hits": hits,
        "messages": len(told),
        "sent": sent.sent,
        "delayed": sent.delayed,
        "given_up": sent.given_up,
    }


def _drop_unconfirmed(lake: Lake) -> None:
    """Delete the subscriptions that were not confirmed in time; write only if there
    are any.
    """
    if expired(lake, utc_now()):
        lake.transact(lambda rows: delete_expired(rows, utc_now()))


def _follow(
    context: dg.AssetExecutionContext, lake: Lake, rules: Alerts, desks: Sequence[Desk]
) -> int:
    """Store the new hits and return their number; where the record of changes is cut
    off, go on at its end.
    """

    def read(cursor: str) -> tuple[list[Change], str]:
        changes, after = read_changes(lake, Cursor.of(cursor), _CHANGES)
        return changes, str(after)

    newest = str(newest_cursor(lake))
    try:
        matcher = Matcher(rules.queries)
        return follow(lake, matcher, read, newest, utc_now(), _names_of(desks))
    except CursorError as error:
        context.log.warning(f"articles since the last run are not told: {error}")
        restart(lake, newest)
        return 0


def _follow_changes(lake: Lake, rules: Alerts, desks: Sequence[Desk]) -> int:
    """Store the hits of the changes of the last day and return how many are new; a
    change may be committed long after its poll began.
    """
    newest = newest_meeting_change(lake)
    stored = 0
    if any(query.changes for query in rules.queries):
        now, names = utc_now(), _names_of(desks)
        changes = recent_changes(lake, now - _LOOKED_BACK)
        find = partial(
            change_hits, queries=rules.queries, changes=changes, names=names, now=now
        )
        if find(lake):
            stored = lake.transact(lambda rows: _store_hits(rows, find(rows)))
    if newest is not None and _followed(lake) != newest.isoformat():
        row = Follower(name=_CHANGES_FOLLOWER, cursor=newest.isoformat())
        lake.transact(lambda rows: rows.upsert([row]))
    return stored


def _store_hits(rows: Rows, hits: Sequence[ChangeHit]) -> int:
    rows.upsert(hits)
    return len(hits)


def _names_of(desks: Sequence[Desk]) -> dict[str, str]:
    """Return the names of agencies by their keys."""
    names: dict[str, str] = {}
    for desk in desks:
        names |= desk.agency_names
    return names


def _followed(lake: Lake) -> str:
    found = lake.read(Follower, name=[_CHANGES_FOLLOWER])
    return found[0].cursor if found else ""


def _look(
    lake: Lake,
    desks: Sequence[Desk],
    rules: Alerts,
    problems: Mapping[str, str],
    settings: Settings,
    check_states: Callable[[], tuple[dict[str, str], set[str]]],
) -> list[Message]:
    """Tell operators which states became bad or are over, unless it is quiet time."""
    operators, now = rules.operators, utc_now()
    if operators is None or operators.is_quiet(now):
        return []
    failed, unknown = check_states()
    bad = bad_states(lake, desks, operators, settings.ceilings, now) | failed
    for name, problem in problems.items():
        bad[f"query {name}"] = problem
    usage = shutil.disk_usage(settings.home)
    if usage.free < usage.total * operators.disk_free_ratio:
        bad["disk"] = (
            f"{usage.free / 1e9:.1f} GB of {usage.total / 1e9:.1f} GB are free at NEWS_HOME"
        )
    return lake.transact(
        lambda rows: tell_conditions(rows, operators, bad, unknown, now)
    )


def _check_states(
    instance: dg.DagsterInstance, keys: Sequence[dg.AssetCheckKey]
) -> tuple[dict[str, str], set[str]]:
    """Return the checks whose last evaluation failed, and the names of those of which
    that is not known now.
    """
    failed, unknown = {}, set()
    for key in keys:
        name = f"check {key.asset_key.to_user_string()} {key.name}"
        record = instance.get_latest_asset_check_evaluation_record(key)
        match record.status.value if record else "":
            case "SUCCEEDED":
                pass
            case "FAILED":
                failed[name] = "the check fails"
            case _:  # it is being evaluated, or its run failed
                unknown.add(name)
    return failed, unknown


_TELL_EVERY_S = 15  # articles that are new in the meantime are told in one message
_NOTHING_TO_TELL_EVERY_S = 3600


def build_alerts_sensor(jobs: Jobs, *, has_queries: bool = True) -> dg.SensorDefinition:
    """Return the sensor; its cursor is the time of the last look at all states, in
    epoch seconds.

    `has_queries`: whether NEWS_QUERIES names a file or readers may subscribe; else there
    is nothing to tell.
    """
    every_s = _TELL_EVERY_S if has_queries else _NOTHING_TO_TELL_EVERY_S

    @dg.sensor(
        name="alerts",
        job=job_named(jobs, ALERTS),
        minimum_interval_seconds=every_s,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=(
            "Requests messages about new hits of saved queries, and about states that became bad or"
            " are over."
        ),
    )
    def sensor(
        context: dg.SensorEvaluationContext, lake: dg.ResourceParam[Lake]
    ) -> dg.SensorResult:
        settings = Settings.read()
        if settings.queries is None and not settings.takes_subscriptions:
            return dg.SensorResult(skip_reason="NEWS_QUERIES names no file")
        if is_running(context.instance, ALERTS):
            return _skipped("a run is in progress", context)
        try:
            rules = _present_rules(settings.queries)
        except SettingsError as error:
            return _skipped(str(error), context)
        now = utc_now()
        if _is_look_due(rules, float(context.cursor or 0), now):
            cursor = str(now.timestamp())
            return dg.SensorResult([_request(is_look=True)], cursor=cursor)
        if _has_news(lake, now):
            return dg.SensorResult([_request(is_look=False)], cursor=context.cursor)
        return _skipped("nothing to tell", context)

    return sensor


def _skipped(reason: str, context: dg.SensorEvaluationContext) -> dg.SensorResult:
    return dg.SensorResult(skip_reason=reason, cursor=context.cursor)


def _request(*, is_look: bool) -> dg.RunRequest:
    op = _ALERTS_KEY.to_python_identifier()
    return dg.RunRequest(run_config={"ops": {op: {"config": {"look": is_look}}}})


def _present_rules(path: Path | None) -> Alerts:
    """Return the rules of the file of queries as it is now. Raises SettingsError."""
    if path is None or not path.is_file():
        return _cached_rules(path, 0)
    return _cached_rules(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=1)
def _cached_rules(path: Path | None, changed_ns: int) -> Alerts:
    return load_alerts(path)


def _is_look_due(rules: Alerts, last_s: float, now: datetime) -> bool:
    operators = rules.operators
    if operators is None or operators.is_quiet(now):
        return False
    return now.timestamp() - last_s >= 60 * operators.every_minutes


def _has_news(lake: Lake, now: datetime) -> bool:
    """Return whether articles are new in the index, or hits or messages are due."""
    followers = lake.read(Follower, name=[FOLLOWER])
    if not followers:
        return True
    cursor = Cursor.of(followers[0].cursor)
    for change in ("indexed", "withdrawn"):
        if has_change(lake, cursor, change):
            return True
    newest = newest_meeting_change(lake)
    if newest is not None and _followed(lake) != newest.isoformat():
        return True
    hits = lake.frame(QueryHit, None, ("due_at",), told_at=[None])
    if (hits["due_at"] <= now).any():
        return True
    messages = lake.frame(Message, None, ("next_try_at",), sent_at=[None])
    return bool((messages["next_try_at"].drop_nulls() <= now).any())
