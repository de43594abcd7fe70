"""The asset `newsroom/alerts`: tells new hits of saved queries, and operators what
became bad or is over.
"""

import shutil
from collections.abc import Iterable, Mapping, Sequence

import dagster as dg
from pydantic import Field

from news_assets.clients.factory import open_notifier
from news_assets.defs.clock import utc_now
from news_assets.defs.metadata import OWNERS
from news_assets.errors import NewsAssetsError
from news_assets.pipeline.alerts.digests import tell_conditions, tell_hits
from news_assets.pipeline.alerts.hits import Matcher, follow, restart
from news_assets.pipeline.alerts.query_file import Alerts, load_alerts
from news_assets.pipeline.alerts.sending import send_due
from news_assets.pipeline.alerts.stored_queries import with_stored
from news_assets.records.alerts import Message
from news_assets.records.derived import Change
from news_assets.records.desks import Desk
from news_assets.settings import Settings
from news_assets.store.changes import Cursor, CursorError, newest_cursor, read_changes
from news_assets.store.lake import Lake
from news_assets.store.queries.freshness import bad_states

ALERTS_KEY = dg.AssetKey(["newsroom", "alerts"])
# that are compared with the queries in one transaction: 0.3 s with 1,000 queries
_CHANGES = 500


class AlertsConfig(dg.Config):
    """Run configuration of `newsroom/alerts`."""

    look: bool = Field(
        True, description="look also at the states that operators are told"
    )


def build_alerts(
    desks: Sequence[Desk], checks: Iterable[dg.AssetChecksDefinition]
) -> dg.AssetsDefinition:
    """Return the asset over all desks; operators are told the results of `checks`."""
    check_keys = sorted({key for check in checks for key in check.check_keys})

    @dg.asset(
        key=ALERTS_KEY,
        group_name="newsroom",
        owners=OWNERS,
        kinds={"python"},
        code_version="1",
    )
    def alerts(
        context: dg.AssetExecutionContext,
        config: AlertsConfig,
        lake: dg.ResourceParam[Lake],
    ) -> dg.MaterializeResult[None]:
        """Messages about new articles that match a saved query, and about states that
        became bad or are over.

        Follows the record of changes: each article that is new in the index is compared
        with the queries of NEWS_QUERIES and of the pages, and told once for each query
        that it matches. Messages that a channel does not accept are sent again later.
        Can be repeated at any time.
        """
        settings = Settings.read()
        try:
            rules, problems = with_stored(load_alerts(settings.queries), lake)
            for problem in problems.values():
                context.log.warning(problem)
            hits = _follow(context, lake, rules)
            told = lake.transact(lambda rows: tell_hits(rows, rules, utc_now()))
            if config.look:
                told += _look(
                    context.instance, lake, desks, rules, problems, settings, check_keys
                )
            with open_notifier(settings, rules) as notifier:
                sent = send_due(lake, notifier, utc_now)
        except NewsAssetsError as error:
            raise dg.Failure(str(error)) from error
        counts = {"hits": hits, "messages": len(told), "sent": sent.sent}
        return dg.MaterializeResult(
            metadata={**counts, "delayed": sent.delayed, "given_up": sent.given_up}
        )

    return alerts


def _follow(context: dg.AssetExecutionContext, lake: Lake, rules: Alerts) -> int:
    """Store the new hits and return their number; where the record of changes is cut
    off, go on at its end.
    """

    def read(cursor: str) -> tuple[list[Change], str]:
        changes, after = read_changes(lake, Cursor.of(cursor), _CHANGES)
        return changes, str(after)

    newest = str(newest_cursor(lake))
    try:
        return follow(lake, Matcher(rules.queries), read, newest, utc_now())
    except CursorError as error:
        context.log.warning(f"articles since the last run are not told: {error}")
        restart(lake, newest)
        return 0


def _look(
    instance: dg.DagsterInstance,
    lake: Lake,
    desks: Sequence[Desk],
    rules: Alerts,
    problems: Mapping[str, str],
    settings: Settings,
    check_keys: Sequence[dg.AssetCheckKey],
) -> list[Message]:
    operators, now = rules.operators, utc_now()
    if operators is None or operators.is_quiet(now):
        return []
    failed, unknown = _check_states(instance, check_keys)
    bad = bad_states(lake, desks, operators, settings.ceilings, now) | failed
    bad |= {f"query {name}": problem for name, problem in problems.items()}
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
