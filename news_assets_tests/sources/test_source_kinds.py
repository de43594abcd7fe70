from dataclasses import replace

import pytest

from news_assets.errors import SourceError
from news_assets.sources import feed
from news_assets.sources import source_kinds as kinds
from news_assets_tests.sources.rss_pages import SOURCE


def test_an_unknown_kind_of_source_names_the_known_ones() -> None:
    with pytest.raises(
        SourceError, match=r"unknown kind of source 'ftp'; known: .*feed"
    ):
        kinds.adapter_of(replace(SOURCE, kind="ftp"))


def test_a_kind_has_its_adapter() -> None:
    assert kinds.adapter_of(SOURCE).parse is feed.parse
