from news_assets.text.url_tables import tracking


def test_the_tables_are_lower_case() -> None:
    names = [
        *tracking.TRACKING_PARAMETERS,
        *tracking.TRACKING_PREFIXES,
        *tracking.SITE_PARAMETERS,
    ]
    assert [name for name in names if name != name.lower()] == []
