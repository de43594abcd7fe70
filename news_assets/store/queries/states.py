"""The states of articles and of the rows made from them, rendered in SQL from the
declared stages.
"""

from collections.abc import Mapping
from dataclasses import fields
from datetime import date
from typing import Final, NamedTuple

from news_assets.pipeline import stages
from news_assets.pipeline.stage_state.declaration import Stage, State
from news_assets.records.desks import Desk
from news_assets.store.tables import table_of

_FIRST_STAGE = "raw_articles"  # the rows of all other stages are made from its rows
ARTICLES = f"r_{_FIRST_STAGE}"
# column of a stage whose rows are to be replaced although their state is current
_PROVISIONAL: Final = "is_provisional"


class Derived(NamedTuple):
    """The rows of a derived stage, in SQL: relation, stored and present state, and
    whether they are provisional.
    """

    stage: str
    relation: str
    stored: str
    state: str
    is_provisional: str


def derived_relations() -> list[Derived]:
    """Return the relations of the derived stages, upstream first."""
    return [_derived(stage, stage.state) for stage in stages.STAGES if stage.state]


def _derived(stage: Stage, state: State) -> Derived:
    relation = f"r_{stage.name}"
    is_provisional = (
        f"{relation}.{_PROVISIONAL}" if _may_be_provisional(stage) else "false"
    )
    return Derived(
        stage.name,
        relation,
        f"{relation}.{state.column}",
        state_sql(state),
        is_provisional,
    )


def _may_be_provisional(stage: Stage) -> bool:
    return any(field.name == _PROVISIONAL for field in fields(stage.record))


def state_sql(state: State) -> str:
    """Return `State.of` as an SQL expression over the relations of the stages."""
    if state.version is None:
        ((stage, column),) = state.inputs
        return f"r_{stage}.{column}"
    values = [
        f"'{state.version}'",
        *(
            f"CASE WHEN r_{stage}.outcome = 'ok' THEN r_{stage}.{column} ELSE '' END"
            for stage, column in state.inputs
        ),
        f"coalesce(named.name, {ARTICLES}.agency)",
    ]
    return f"sha256(concat_ws(chr(10), {', '.join(values)}))"


def relations_sql(columns: str, where: str) -> str:
    """Return the CTEs of each stage's rows, named `r_` and the stage's name, and of the
    agencies' names (`named`).

    They have `columns`, in which `{since}` is the time a row was made, `outcome`, and
    the columns that states are read from and stored in. NULLs there, of rows from
    before a state was stored, count as empty.
    """
    relations = [_relation(stage, columns, where) for stage in stages.STAGES]
    named = (
        "named AS (SELECT unnest($agencies::VARCHAR[]) AS agency, unnest($names::VARCHAR[]) AS"
        " name)"
    )
    return ", ".join([*relations, named])


def _relation(stage: Stage, columns: str, where: str) -> str:
    states = [other.state for other in stages.STAGES if other.state]
    read = [
        column
        for state in states
        for name, column in state.inputs
        if name == stage.name
    ]
    compared = dict.fromkeys([stage.state.column, *read] if stage.state else read)
    picked = [
        columns.format(since=stage.made_at),
        *(f"coalesce({name}, '') AS {name}" for name in compared),
        "outcome",
    ]
    if _may_be_provisional(stage):
        picked.append(f"coalesce({_PROVISIONAL}, false) AS {_PROVISIONAL}")
    is_article = (
        "AND outcome = 'ok' AND text_chars > 0" if stage.name == _FIRST_STAGE else ""
    )
    return (
        f"r_{stage.name} AS (SELECT {', '.join(picked)} FROM {table_of(stage.record).name} "
        f"WHERE desk = $desk AND day >= $first_day {where} {is_article})"
    )


def parameters(
    desk: str, agency_names: Mapping[str, str], first_day: date
) -> dict[str, object]:
    """Return the parameters of `relations_sql`."""
    return {
        "desk": desk,
        "first_day": first_day,
        "agencies": list(agency_names),
        "names": list(agency_names.values()),
    }


def names_of(desk: Desk) -> dict[str, str]:
    """Return the names of a desk's agencies by key."""
    return {agency.key: agency.name for agency in desk.agencies}
