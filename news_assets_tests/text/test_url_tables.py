from news_assets.text import url_tables


def test_the_tables_are_lower_case() -> None:
    names = [
        *url_tables.TRACKING_PARAMETERS,
        *url_tables.TRACKING_PREFIXES,
        *url_tables.SITE_PARAMETERS,
    ]
    assert [name for name in names if name != name.lower()] == []
