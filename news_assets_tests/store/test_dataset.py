"""Issues of the published data set over a real lake, read as their readers do: by the
data package, with Polars and DuckDB.
"""

import hashlib
import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import jsonschema
import polars as pl
import pytest

from news_assets.errors import LakeError
from news_assets.pipeline.articles.withdrawal import undo_withdrawal, withdraw
from news_assets.records.articles import RawArticle
from news_assets.records.derived import DatasetOptions, EnrichedArticle
from news_assets.records.desks import KeepDays
from news_assets.store.dataset import CARD, Issue, publish
from news_assets.store.lake import Lake
from news_assets.store.retention import delete_old_rows
from news_assets_tests.store.examples import article, full, upsert
from news_assets_tests.support.s3 import s3_bucket

NOW = datetime(2026, 11, 28, 5, 47, tzinfo=UTC)
DAY = date(2026, 11, 20)
NEXT = DAY + timedelta(days=1)
# what https://datapackage.org/standard/data-package/ requires of a package of tables
STANDARD = {
    "type": "object",
    "required": ["$schema", "resources", "licenses", "created", "version", "name"],
    "properties": {
        "licenses": {
            "minItems": 1,
            "items": {
                "required": ["name"],
                "properties": {"name": {"pattern": "^([-a-zA-Z0-9._])+$"}},
            },
        },
        "sources": {"items": {"minProperties": 1}},
        "resources": {
            "type": "array",
            "minItems": 1,
            "items": {
                "required": ["name", "path", "schema", "hash", "bytes", "format"],
                "properties": {
                    "type": {"const": "table"},
                    "path": {"type": "string", "pattern": r"^(?=[^./~])(?!.*\.\./).+$"},
                    "hash": {"pattern": "^sha256:[a-f0-9]{64}$"},
                    "bytes": {"type": "integer"},
                },
            },
        },
    },
}


def put(number: int, day: date = DAY, **given: Any) -> RawArticle:
    return article(
        number,
        **{
            "article_id": f"mec-{day}-{number:05}",
            "day": day,
            "outcome": "ok",
            "meeting_id": "",
            "url_hash": str(number),
            "text_hash": str(number),
            "lead_minhash": None,
            "duplicate_of": None,
            "text": f"the text {number}",
            "title": f"Title {number}",
        }
        | given,
    )


@pytest.fixture
def options(tmp_path: Path) -> DatasetOptions:
    return DatasetOptions(
        str(tmp_path / "published"), ("title", "text", "theme_code"), "CC-BY-4.0"
    )


def issue(lake: Lake, options: DatasetOptions, hours: int = 0) -> Issue:
    return publish(lake, options, NOW + timedelta(hours=hours))


def card(options: DatasetOptions) -> Any:
    return json.loads((Path(options.place) / CARD).read_text())


def files(options: DatasetOptions, of: str) -> list[str]:
    """Return the paths of the files that the package lists: `articles` or `changes`."""
    resources = card(options)["resources"]
    paths = [one["path"] for one in resources if one["path"].startswith(of)]
    return [f"{options.place}/{path}" for path in paths]


def published(options: DatasetOptions) -> dict[str, str]:
    """Return the text of each article."""
    rows = pl.read_parquet(files(options, "articles"))
    return dict(rows.select("article_id", "text").iter_rows())


def texts_of_all_files(options: DatasetOptions) -> set[str]:
    found: set[str] = set()
    for file in Path(options.place).rglob("*.parquet"):
        found |= set(
            pl.read_parquet(file, hive_partitioning=False)["text"].drop_nulls()
        )
    return found


def is_whole(options: DatasetOptions) -> bool:
    """Whether every listed file is there as it was published."""
    for one in card(options)["resources"]:
        content = (Path(options.place) / one["path"]).read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        if (f"sha256:{digest}", len(content)) != (one["hash"], one["bytes"]):
            return False
    return True


def test_an_issue_is_read_by_polars_and_duckdb_with_its_schema_and_checksums(
    lake: Lake, options: DatasetOptions
) -> None:
    upsert(lake, [put(1), put(2, NEXT), put(3, outcome="failed")])
    mine = {"article_id": put(1).article_id, "day": DAY, "outcome": "ok"}
    upsert(lake, [full(EnrichedArticle, **mine, theme_code="04")])

    made = issue(lake, options)

    package = card(options)
    jsonschema.validate(package, STANDARD)
    assert made == Issue("20261128T054700Z", 2, 2, 2, 0, 0, is_whole=True)
    assert package["licenses"] == [{"name": "CC-BY-4.0"}]
    assert package["sources"] == [{"title": "govbr/mec"}]
    assert is_whole(options)
    frame = pl.read_parquet(files(options, "articles"), hive_partitioning=False)
    rows = duckdb.sql(
        f"FROM read_parquet({files(options, 'articles')}) ORDER BY article_id"
    ).fetchall()
    assert frame.sort("article_id").rows() == rows
    assert [row[3:] for row in rows] == [
        (DAY, "Title 1", "the text 1", "04"),
        (NEXT, "Title 2", "the text 2", None),
    ]
    for one in package["resources"]:
        schema = json.loads((Path(options.place) / one["schema"]).read_text())
        assert [field["name"] for field in schema["fields"]] == frame.columns


def test_the_next_issue_writes_only_the_days_with_changes(
    lake: Lake, options: DatasetOptions
) -> None:
    upsert(lake, [put(1), put(2, NEXT)])
    issue(lake, options)
    first, second = files(options, "articles")
    upsert(lake, [put(3, NEXT), put(2, NEXT, text="edited")])

    made = issue(lake, options, 1)

    assert (made.written, made.changed, made.removed) == (1, 2, 0)
    kept, new = files(options, "articles")
    assert kept == first
    assert new != second
    assert not Path(second).exists()
    assert is_whole(options)
    texts = sorted(published(options).values())
    assert texts == ["edited", "the text 1", "the text 3"]


def follow(options: DatasetOptions, rows: dict[str, str], cursor: str) -> str:
    """Apply the changes after a cursor to the rows; return the cursor after them."""
    for one in card(options)["resources"]:
        if one.get("since") != cursor:
            continue
        cursor = one["until"]
        frame = pl.read_parquet(f"{options.place}/{one['path']}")
        for key, change, text in frame.select("article_id", "change", "text").rows():
            rows.pop(key, None)
            if change == "stored":
                rows[key] = text
    return cursor


def test_who_applies_the_changes_has_what_who_reads_all_days_has(
    lake: Lake, options: DatasetOptions
) -> None:
    upsert(lake, [put(n) for n in range(4)])
    issue(lake, options)
    rows, cursor = published(options), card(options)["cursor"]
    steps = (
        [put(1, text="edited")],
        [put(2, outcome="withdrawn", text=None), put(9, NEXT)],
        [],
        [put(2), put(9, NEXT, outcome="withdrawn", text=None), put(3, text="edited")],
    )
    for hours, changed in enumerate(steps, start=1):
        upsert(lake, changed)
        issue(lake, options, hours)

    cursor = follow(options, rows, cursor)

    assert rows == published(options)
    assert cursor == card(options)["cursor"]


def test_a_withdrawn_text_is_in_no_file_of_the_next_issue(
    lake: Lake, options: DatasetOptions
) -> None:
    upsert(lake, [put(1)])
    issue(lake, options)
    upsert(lake, [put(2), put(1, text="edited")])
    issue(lake, options, 1)
    upsert(lake, [put(3)])
    issue(lake, options, 2)
    stored = [one for one in lake.read(RawArticle) if one.title == "Title 2"]
    lake.transact(lambda rows: withdraw(rows, stored, "by a court", NOW))

    made = issue(lake, options, 3)

    assert (made.removed, made.articles) == (1, 2)
    assert texts_of_all_files(options) == {"edited", "the text 3"}
    assert is_whole(options)
    withdrawn = [one for one in lake.read(RawArticle) if one.title == "Title 2"]
    undo_withdrawal(lake, withdrawn[0], lambda _: None)
    issue(lake, options, 4)
    assert "the text 2" in published(options).values()


def test_an_issue_that_is_not_finished_leaves_the_last_one_whole(
    lake: Lake, options: DatasetOptions
) -> None:
    upsert(lake, [put(1)])
    issue(lake, options)
    before = card(options)
    upsert(lake, [put(1, text="edited")])
    in_the_way = Path(options.place) / "changes"
    in_the_way.write_text("a file where the folder of changes is to be")

    with pytest.raises(LakeError, match="published: the data set could not be written"):
        issue(lake, options, 1)

    assert card(options) == before
    assert is_whole(options)
    assert set(published(options).values()) == {"the text 1"}
    in_the_way.unlink()
    assert issue(lake, options, 2).changed == 1
    assert texts_of_all_files(options) == {"edited"}


def test_other_fields_and_a_lost_record_of_changes_give_a_whole_issue(
    lake: Lake, options: DatasetOptions
) -> None:
    upsert(lake, [put(1)])
    issue(lake, options)
    upsert(lake, [put(1, text="edited")])
    issue(lake, options, 1)
    shorter = DatasetOptions(options.place, ("title",))

    made = issue(lake, shorter, 2)

    assert made.is_whole
    assert card(shorter)["licenses"] == [{"name": "notspecified"}]
    assert files(shorter, "changes") == []
    assert pl.read_parquet(files(shorter, "articles")).width == 5
    upsert(lake, [put(2)])
    upsert(lake, [put(3)])
    keep = KeepDays(0, 0, 0, 0, changes=1)
    assert list(delete_old_rows(lake, keep, datetime.now(UTC) + timedelta(days=9)))
    assert issue(lake, shorter, 3).is_whole


def test_too_many_changes_give_a_whole_issue(
    lake: Lake, options: DatasetOptions
) -> None:
    upsert(lake, [put(1)])
    issue(lake, options)
    upsert(lake, [put(1, text="edited"), put(2)])

    assert publish(lake, options, NOW + timedelta(hours=1), most_changes=1).is_whole
    assert files(options, "changes") == []
    assert texts_of_all_files(options) == {"edited", "the text 2"}


def test_an_article_that_moved_to_another_day_is_in_one_file(
    lake: Lake, options: DatasetOptions
) -> None:
    upsert(lake, [put(1), put(2)])
    issue(lake, options)
    upsert(lake, [put(1, NEXT, article_id=put(1).article_id)])

    issue(lake, options, 1)

    days = pl.read_parquet(files(options, "articles"), hive_partitioning=False)
    assert sorted(days.select("article_id", "day").rows()) == [
        (put(1).article_id, NEXT),
        (put(2).article_id, DAY),
    ]


def test_changes_are_listed_as_long_as_the_record_is_kept(
    lake: Lake, options: DatasetOptions
) -> None:
    upsert(lake, [put(1)])
    issue(lake, options)
    for hours, number in ((1, 2), (800, 3)):
        upsert(lake, [put(number)])
        issue(lake, options, hours)

    (newest,) = files(options, "changes")

    assert len(pl.read_parquet(newest)) == 1
    assert len(list(Path(options.place).glob("changes/*"))) == 1


def test_other_files_of_the_folder_stay(lake: Lake, options: DatasetOptions) -> None:
    mine = Path(options.place) / "articles" / "mine.parquet"
    mine.parent.mkdir(parents=True)
    mine.write_bytes(b"mine")
    for hours in (0, 1):
        upsert(lake, [put(hours)])
        issue(lake, options, hours)

    assert mine.read_bytes() == b"mine"


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    with s3_bucket() as (variables, bucket):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        yield bucket


@pytest.mark.slow  # starts an S3 server
def test_issues_on_s3_replace_each_other_in_the_same_way(
    lake: Lake, bucket: Any
) -> None:
    options = DatasetOptions("s3://bucket/open", ("title", "text"))
    upsert(lake, [put(1), put(2, NEXT)])
    issue(lake, options)
    upsert(lake, [put(1, outcome="withdrawn", text=None)])

    made = issue(lake, options, 1)

    assert (made.articles, made.removed) == (1, 1)
    stored = {one.key: one.get()["Body"].read() for one in bucket.objects.all()}
    package = json.loads(stored["open/datapackage.json"])
    jsonschema.validate(package, STANDARD)
    listed = {f"open/{one['path']}": one["hash"] for one in package["resources"]}
    found = {
        key: f"sha256:{hashlib.sha256(content).hexdigest()}"
        for key, content in stored.items()
        if key.endswith(".parquet")
    }
    assert found == listed
    assert len(found) == 2
