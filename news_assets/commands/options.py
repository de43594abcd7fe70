"""Options that several commands have."""

from datetime import date, datetime
from typing import Annotated

import typer

Desk = Annotated[str | None, typer.Option(help="only this desk")]
Agency = Annotated[str | None, typer.Option(help="only this agency")]
From = Annotated[
    datetime | None, typer.Option("--from", formats=["%Y-%m-%d"], help="first day")
]
To = Annotated[
    datetime | None, typer.Option("--to", formats=["%Y-%m-%d"], help="last day")
]
Json = Annotated[bool, typer.Option("--json", help="JSON output")]

Days = tuple[date | None, date | None]  # the first and the last; None for no limit


def day_of(at: datetime | None) -> date | None:
    """Return the day of an option that states one."""
    return None if at is None else at.date()


def days_between(first: datetime | None, last: datetime | None) -> Days:
    """Return the days of `--from` and `--to`."""
    return day_of(first), day_of(last)
