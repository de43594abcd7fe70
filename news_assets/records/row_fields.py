"""Types of columns that several tables have."""

from datetime import date
from typing import Annotated

Desk_ = Annotated[str, "key of the desk"]
Agency_ = Annotated[str, "key of the agency"]
Day_ = Annotated[date, "partition day: day of publication in the agency's time zone, or the day it was first seen"]
ArticleId = Annotated[str, "readable, stable id: agency, day, slug of the title and hash of the canonical URL"]
SourceId = Annotated[str, "id of the source"]
RowOutcome = Annotated[str, "ok, unchanged, gone, blocked, failed or skipped; of articles also withdrawn"]
Reason = Annotated[str | None, "reason for an outcome other than ok"]
