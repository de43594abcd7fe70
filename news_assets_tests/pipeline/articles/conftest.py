import pytest

from news_assets.store.lake import Lake
from news_assets_tests.pipeline.articles.fetched_desk import FetchedDesk


@pytest.fixture
def desk(lake: Lake) -> FetchedDesk:
    return FetchedDesk(lake)
