"""Types of columns that several tables have."""

from datetime import date
from typing import Annotated

from news_assets.records.content import KEPT

Desk_ = Annotated[str, "key of the desk", KEPT]
Agency_ = Annotated[str, "key of the agency", KEPT]
Day_ = Annotated[
    date,
    "partition day: day of publication in the agency's time zone, or the day it was first seen",
    KEPT,
]
ArticleId = Annotated[
    str,
    "readable, stable id: agency, day, slug of the title and hash of the canonical URL",
    KEPT,
]
SourceId = Annotated[str, "id of the source", KEPT]
RowOutcome = Annotated[
    str,
    "ok, unchanged, gone, blocked, failed or skipped; of articles also withdrawn",
    KEPT,
]
Reason = Annotated[str | None, "reason for an outcome other than ok"]
