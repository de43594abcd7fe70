from contextlib import suppress
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.text.dates import (
    day_in_address,
    day_of,
    is_month_first,
    parse_date,
    placed,
    without_accents,
    zone_info,
)

SAO_PAULO = "America/Sao_Paulo"


@pytest.mark.parametrize(
    "text",
    [
        "Tue, 08 Sep 2026 14:30:00 -0300",
        "Fri, 08 Sep 2026 14:30 -0300",  # not a Friday
        "8 Sep 26 17:30 GMT",
        "Tue, 08 Sep 2026 14:30:00 BRT",
        "Tue, 08 Sep 2026 12:30:00 EST",
        "Tue, 08 Sep 2026 14:30:00 GMT-03:00",
        "Tue, 08 Sep 2026 17:30:00 +0000 (UTC)",
        "Tue Sep  8 14:30:00 2026",
        "Tue, Sep 08 2026 02:30:00 PM",
        "September 8th, 2026 2:30 pm",
        "2026-09-08T14:30:00-03:00",
        "2026-09-08T17:30:00.1234567Z",
        "2026-09-08T14:30",
        "2026-09-08 14:30:00 -0300",
        "2026/9/8 14:30:00",
        "20260908T173000Z",
        "1788888600",
        "1788888600000",
        "08/09/2026 14h30",
        "08/09/2026 às 14h30min",
        "08.09.26, 14:30",
        "Publicado em 08/09/2026 14h30 - Atualizado em 09/09/2026 10h00",
        "8 de setembro de 2026, 14h30",
        "ter, 08 set 2026 14:30:00 -0300",
        "8 septembre 2026 à 14h30",
        "08/set/2026 14h30",
        "08/09/2026 (14:30)",
        "08/09/2026 às 14 h 30",
        "08/09/2026 2:30 PM",
        "14h30 de 08/09/2026",
        "14:30, 8 September 2026",
        "Published 2:30 PM BRT, Tuesday, September 8, 2026",
        "September 8, 2026 / 2:30 PM / Updated 14 hours ago",
        "Sep 8 14:30:00 2026 BRX",  # an unknown zone
        "8 settembre 2026 alle 14:30",
        "8 de septiembre de 2026 a las 14:30",
        "08.09.2026, 14.30 Uhr",
        "08/09/2026 14h30 (horário de Brasília)",
        "08/09/2026 13h30 (horário de Manaus)",
        "08/09/2026 14h30 (hora local)",
    ],
)
def test_one_time_is_read_in_every_form(text: str) -> None:
    assert parse_date(text, SAO_PAULO) == datetime(2026, 9, 8, 17, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "2026-09-08",
        "08/09/2026",
        "8 de setembro de 2026",
        "Tue, 08 Sep 2026",
        "20260908",
    ],
)
def test_a_date_without_a_time_is_midnight_of_the_source(text: str) -> None:
    assert parse_date(text, SAO_PAULO) == datetime(2026, 9, 8, 3, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "hour"),
    [
        ("08/09/2026 14h", 17),
        ("08/09/2026 às 9h", 12),
        ("8 de setembro de 2026 às 14 horas", 17),
        ("9h de 08/09/2026", 12),
    ],
)
def test_minutes_are_optional(text: str, hour: int) -> None:
    assert parse_date(text, SAO_PAULO) == datetime(2026, 9, 8, hour, tzinfo=UTC)


@pytest.mark.parametrize(
    "address",
    [
        "https://example.org/2026/03/27/escolas",
        "https://example.org/2026/3/27",
        "https://example.org/2026/mar/27/escolas",
        "https://example.org/noticia-2026-03-27-escolas.html",
        "https://example.org/20260327/escolas",
        "https://example.org/id/20269999/2026-03-27.html?2020-01-01",
    ],
)
def test_an_address_names_a_day(address: str) -> None:
    assert day_in_address(address) == date(2026, 3, 27)


@pytest.mark.parametrize(
    "address",
    [
        "https://example.org/2026/03/escolas",
        "https://example.org/2026/03/2700",
        "https://example.org/120260327",
        "https://example.org/2026327",
        "https://example.org/1989/03/27",
        "https://example.org/2026/02/30",
        "https://example.org/?day=2026-03-27",
        "https://2026-03-27.example.org/",
        "https://[",
    ],
)
def test_a_month_or_a_number_in_an_address_is_not_a_day(address: str) -> None:
    assert day_in_address(address) is None


@given(
    st.dates(date(1990, 1, 1), date(2099, 12, 31)),
    st.sampled_from(["%Y/%m/%d", "%Y-%m-%d", "%Y%m%d", "%Y_%m_%d"]),
)
def test_any_day_is_read_back_from_an_address(day: date, form: str) -> None:
    assert (
        day_in_address(f"https://example.org/news/{day.strftime(form)}/escolas-7")
        == day
    )


@given(st.text())
def test_any_address_gives_a_day_or_none(address: str) -> None:
    assert (
        day_in_address(address) is None
        or day_in_address(f"//example.org/{address}") is not None
    )


def test_the_month_comes_first_in_the_united_states_only() -> None:
    assert parse_date("08/09/2026", "America/New_York") == datetime(
        2026, 8, 9, 4, tzinfo=UTC
    )
    assert parse_date("08/09/2026", "Europe/Lisbon") == datetime(
        2026, 9, 7, 23, tzinfo=UTC
    )
    assert parse_date("12/31/2026", SAO_PAULO) == datetime(2026, 12, 31, 3, tzinfo=UTC)


def test_an_ambiguous_zone_name_is_that_of_the_source() -> None:
    assert parse_date("8 Sep 2026 14:30 CST", "Asia/Shanghai") == datetime(
        2026, 9, 8, 6, 30, tzinfo=UTC
    )
    assert parse_date("8 Sep 2026 14:30 CST", "UTC") == datetime(
        2026, 9, 8, 20, 30, tzinfo=UTC
    )


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "ontem à noite",
        "Monday",
        "10:30",
        "2026",
        "2026-09",
        "Wed, 31 Feb 2026 10:00:00 GMT",
        "2026-09-08T25:00:00Z",
        "Mon, 01 Jan 0000 00:00:00 GMT",
        "0001-01-01T00:00:00Z",
        "Wed, 30 Nov -0001 00:00:00 +0000",
        "0000-00-00 00:00:00",
        "Thu, 01 Jan 1970 00:00:00 GMT",
        "Fri, 31 Dec 9999 23:59:59 GMT",
        "8 Sep 2026 " * 50,
    ],
)
def test_text_without_a_day_is_none(text: str | None) -> None:
    assert parse_date(text, SAO_PAULO) is None


@given(
    st.one_of(st.text(max_size=130), st.from_regex(r"[0-9a-zA-Z:/ ,.+-]{0,40}")),
    st.sampled_from([SAO_PAULO, "No/Such"]),
)
def test_a_date_is_aware_utc_or_none_for_any_text(text: str, timezone: str) -> None:
    at = parse_date(text, timezone)
    assert at is None or at.tzinfo is UTC


@given(st.datetimes(datetime(1971, 1, 1), datetime(2099, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001 - bounds
def test_iso_text_is_read_back_to_the_second(at: datetime) -> None:
    assert parse_date(at.isoformat(), SAO_PAULO) == at.replace(microsecond=0)


def test_the_day_depends_on_the_zone() -> None:
    at = datetime(2026, 9, 9, 2, 0, tzinfo=UTC)
    assert (day_of(at, SAO_PAULO), day_of(at, "UTC")) == (
        date(2026, 9, 8),
        date(2026, 9, 9),
    )


@pytest.mark.parametrize(
    "text",
    [
        "8 сентября 2026",
        "8 вересня 2026",
        "8 września 2026",
        "8 Eylül 2026",
        "2026年9月8日",
        "8. 9. 2026.",
    ],
)
def test_dates_of_other_languages_are_read(text: str) -> None:
    assert parse_date(text, "UTC") == datetime(2026, 9, 8, tzinfo=UTC)


def test_the_name_of_a_folder_with_a_time_is_no_day() -> None:
    assert day_in_address("https://a.org/2014-11-07-12-36-15/noticias/item/547") is None


NOON = datetime(2026, 3, 2, 12)  # noqa: DTZ001 - a local time, as it stands on a page


@pytest.mark.parametrize(
    ("zone", "city", "hour"),
    [
        (None, None, 16),
        ("BRT", None, 15),
        ("-0300", None, 15),
        ("GMT+01:00", None, 11),
        ("Europe/Lisbon", None, 12),
        ("horário de Brasília", "Brasília", 15),
        ("hora local", "local", 16),
        ("xyz", None, 16),
    ],
)
def test_a_local_time_takes_the_written_zone_else_the_source_zone(
    zone: str | None, city: str | None, hour: int
) -> None:
    assert placed(NOON, zone, "America/Manaus", city).astimezone(UTC) == datetime(
        2026, 3, 2, hour, tzinfo=UTC
    )


@given(st.text(), st.text())
def test_any_written_zone_gives_an_aware_time(zone: str, source_zone: str) -> None:
    with suppress(ValueError):  # an offset of a day or more
        assert placed(NOON, zone, source_zone).tzinfo is not None


def test_an_offset_of_a_day_is_an_error() -> None:
    with pytest.raises(ValueError, match="offset"):
        placed(NOON, "+24:00", "UTC")


def test_an_unknown_zone_is_utc() -> None:
    assert zone_info("Nowhere/Land").key == "UTC"


def test_only_the_united_states_write_the_month_first() -> None:
    assert [
        is_month_first(zone) for zone in ("America/New_York", "America/Toronto", "UTC")
    ] == [True, False, False]


def test_accents_are_removed() -> None:
    assert without_accents("Brasília") == "brasilia"
