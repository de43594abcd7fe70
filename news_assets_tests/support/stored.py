"""Short ways to see what was stored."""

from news_assets.ports import SearchIndex


def hashes(index: SearchIndex, desk: str) -> dict[str, str]:
    return dict(index.stored(desk).select("article_id", "document_hash").iter_rows())
