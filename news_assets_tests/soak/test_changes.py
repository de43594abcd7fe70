"""Who follows the record of changes while writers are killed gets every change, once
and in order.
"""

import random
import threading
from pathlib import Path

import pytest

from news_assets.records.articles import RawArticle
from news_assets.records.derived import (
    ArticleEmbedding,
    Change,
    EnrichedArticle,
    IndexedDocument,
)
from news_assets.store.lake import Lake
from news_assets.store.queries.changes import Cursor, read_changes
from news_assets_tests.soak.kills import kill_writers
from news_assets_tests.soak.writers import Newsroom
from news_assets_tests.support.lakes import Catalogs

VERSIONS: dict[type, tuple[str, str]] = {
    RawArticle: ("stored", "content_hash"),
    EnrichedArticle: ("enriched", "input_hash"),
    ArticleEmbedding: ("embedded", "input_hash"),
    IndexedDocument: ("indexed", "document_hash"),
}


@pytest.mark.slow  # each killed process imports everything
@pytest.mark.exhaustive  # test_kills.py kills writers too, and store/queries/test_changes.py follows
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("kills", [6])
def test_followers_get_every_change_in_order_while_writers_are_killed(
    kills: int, catalogs: Catalogs, tmp_path: Path
) -> None:
    room = Newsroom(catalogs.new(tmp_path), tmp_path)
    with Lake.open(*room.place) as lake:
        writers = threading.Thread(
            target=kill_writers, args=(room, kills, random.Random(7))
        )
        writers.start()
        followed = follow(lake, writers)
        writers.join()
        stored = {
            (article_id, change, version)
            for record, (change, column) in VERSIONS.items()
            for article_id, version in lake.frame(
                record, None, ("article_id", column), outcome=["ok"]
            ).iter_rows()
        }
        assert followed == lake.read(Change)
    places = [(one.commit_id, one.sequence) for one in followed]
    assert places == sorted(set(places))
    assert stored <= {(one.article_id, one.change, one.version) for one in followed}
    assert len(stored) > 4 * kills


def follow(lake: Lake, writers: threading.Thread) -> list[Change]:
    """Return what is read a few changes at a time until the writers have ended and
    nothing is left.
    """
    followed: list[Change] = []
    cursor: Cursor | None = None
    while True:
        is_last = not writers.is_alive()
        changes, cursor = read_changes(lake, cursor, 7)
        followed += changes
        if is_last and not changes:
            return followed
