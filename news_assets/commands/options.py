"""Options that several commands have."""

from datetime import datetime
from enum import StrEnum
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


class Form(StrEnum):
    """A file format."""

    JSONL = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"
    XLSX = "xlsx"
    ICAL = "ical"
    OCD = "ocd"


OF_MEETINGS = (
    Form.ICAL,
    Form.OCD,
)  # formats of the table `meetings` only, see `commands/civic/export_meetings.py`
