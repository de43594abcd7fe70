"""Pages in the language and the time zone of their reader.

Texts are English in the templates and Portuguese in `phrases.pt.yaml`, by the English
text. Times are in the zone that the reader chose, else in that of the publisher; short
in lists, and in full with the name of the zone elsewhere. What a reader chooses with a
parameter of any address is kept in a cookie, so that links and forms need not repeat
it.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import cache
from pathlib import Path
from typing import Final
from zoneinfo import available_timezones

import yaml
from markupsafe import Markup
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from news_assets.errors import QueryError
from news_assets.records.desks import Desk
from news_assets.text.dates import day_of, zone_info

LANGUAGES: Final = {"en": "English", "pt": "Português"}
_LANGUAGE_COOKIE: Final = "news_language"
_FILE: Final = Path(__file__).with_name("phrases.pt.yaml")
_MADE_FILE: Final = Path(__file__).with_name("made_texts.pt.yaml")

_Translate = Callable[..., str]


@cache
def portuguese() -> dict[str, str]:
    """Return the Portuguese texts by their English ones."""
    texts: dict[str, str] = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    return texts


def translation(language: str) -> _Translate:
    """Return the function that a template calls with an English text and the values of
    its {names}; of values with markup it makes markup.
    """
    texts = portuguese() if language == "pt" else {}

    def translate(text: str, /, **values: object) -> str:
        found = texts.get(text, text)
        if any(isinstance(value, Markup) for value in values.values()):
            return Markup(found).format(**values)
        return found.format(**values) if values else found

    return translate


def mistake_text(error: QueryError, translate: _Translate) -> str:
    """Return what is wrong in the text of a search, and in which column."""
    problem = translate(error.problem).format(**error.values)
    return translate(
        "column {column} of the search: {problem}", column=error.column, problem=problem
    )


_LANGUAGE_NAMES: Final = {
    "ar": ("Arabic", "árabe"),
    "ca": ("Catalan", "catalão"),
    "de": ("German", "alemão"),
    "en": ("English", "inglês"),
    "es": ("Spanish", "espanhol"),
    "fr": ("French", "francês"),
    "gl": ("Galician", "galego"),
    "hi": ("Hindi", "hindi"),
    "it": ("Italian", "italiano"),
    "ja": ("Japanese", "japonês"),
    "ko": ("Korean", "coreano"),
    "nl": ("Dutch", "holandês"),
    "pl": ("Polish", "polonês"),
    "pt": ("Portuguese", "português"),
    "ru": ("Russian", "russo"),
    "tr": ("Turkish", "turco"),
    "uk": ("Ukrainian", "ucraniano"),
    "zh": ("Chinese", "chinês"),
}


def language_name(code: str, language: str) -> str:
    """Return the name of a language (BCP 47), with its region where there is one; the
    code of one that is not known.
    """
    primary, _, region = code.partition("-")
    if primary not in _LANGUAGE_NAMES:
        return code
    english, portuguese_name = _LANGUAGE_NAMES[primary]
    name = portuguese_name if language == "pt" else english
    return f"{name} ({region})" if region else name


@cache
def _made_texts() -> dict[str, str]:
    texts: dict[str, str] = yaml.safe_load(_MADE_FILE.read_text(encoding="utf-8"))
    return texts


@cache
def _made_patterns() -> list[tuple[re.Pattern[str], str]]:
    """Return the texts with values in braces as patterns, the most exact first."""
    found = []
    for text, translated in _made_texts().items():
        literal = re.sub(r"{\w+}", "", text)
        if literal != text:
            pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+?)", re.escape(text))
            found.append((len(literal), re.compile(pattern), translated))
    found.sort(key=lambda one: -one[0])
    return [(pattern, translated) for _, pattern, translated in found]


def made_text(text: str | None, language: str) -> str:
    """Return a text that the program made and stored, such as a reason or the name of a
    stage, in a language. What has no translation stays as it is.
    """
    if not text or language != "pt":
        return text or ""
    if text in _made_texts():
        return _made_texts()[text]
    for pattern, translated in _made_patterns():
        if match := pattern.fullmatch(text):
            values = match.groupdict()
            made = {name: made_text(value, language) for name, value in values.items()}
            return translated.format(**made)
    return text


def language_of(request: Request) -> str:
    """Return the language to show: that of `lang`, else the one chosen before (a
    cookie), else of Accept-Language, else English.
    """
    chosen = (request.query_params.get("lang"), request.cookies.get(_LANGUAGE_COOKIE))
    for language in chosen:
        if language in LANGUAGES:
            return language
    return _accepted_language(request.headers.get("accept-language", ""))


def _accepted_language(accepted: str) -> str:
    """Return the first language of an Accept-Language header that there is."""
    for part in accepted.split(","):
        code = part.partition(";")[0].strip()[:2].lower()
        if code in LANGUAGES:
            return code
    return "en"


# --- times ----------------------------------------------------------------------------


_ZONE_COOKIE: Final = "news_zone"
_RECENT: Final = timedelta(hours=24)
_HOUR: Final = timedelta(hours=1)
_MINUTE: Final = timedelta(minutes=1)
# where people know a zone by another place or spelling
_PLACES: Final = {
    "America/Sao_Paulo": "Brasília",
    "America/Asuncion": "Asunción",
    "America/Belem": "Belém",
    "America/Bogota": "Bogotá",
    "America/Cuiaba": "Cuiabá",
    "America/Maceio": "Maceió",
    "America/Noronha": "Fernando de Noronha",
}
_OFFERED: Final = (
    "Africa/Cairo",
    "Africa/Johannesburg",
    "Africa/Lagos",
    "Africa/Luanda",
    "Africa/Maputo",
    "Africa/Nairobi",
    "America/Argentina/Buenos_Aires",
    "America/Bogota",
    "America/Chicago",
    "America/Denver",
    "America/Los_Angeles",
    "America/Manaus",
    "America/Mexico_City",
    "America/New_York",
    "America/Noronha",
    "America/Rio_Branco",
    "America/Santiago",
    "America/Sao_Paulo",
    "Asia/Dubai",
    "Asia/Kolkata",
    "Asia/Shanghai",
    "Asia/Tokyo",
    "Atlantic/Azores",
    "Australia/Sydney",
    "Europe/Berlin",
    "Europe/Lisbon",
    "Europe/London",
    "Europe/Madrid",
    "Europe/Moscow",
    "Europe/Paris",
    "UTC",
)
# in texts that the program made
_STATED: Final = re.compile(r"\b(\d{4}-\d\d-\d\d \d\d:\d\d)(?:Z| UTC)")


@cache
def _known_zones() -> frozenset[str]:
    """Return the IANA names of the time zones that can be chosen."""
    return frozenset(available_timezones())


def zone_of(request: Request) -> str:
    """Return the zone that a reader chose with `zone`, now or before (a cookie); empty
    for that of each publisher.
    """
    chosen = request.query_params.get("zone", request.cookies.get(_ZONE_COOKIE, ""))
    return chosen if chosen in _known_zones() else ""


def offered_zones(desks: Iterable[Desk], chosen: str) -> list[str]:
    """Return the zones to choose from: those of the publishers, the chosen one, and one
    for each part of the world.
    """
    zones = {agency.timezone for desk in desks for agency in desk.agencies}
    return sorted(zones.union(_OFFERED, (chosen,) if chosen else ()))


def _place_of(zone: str) -> str:
    """Return the place that a zone is known by."""
    return _PLACES.get(zone) or zone.rpartition("/")[2].replace("_", " ")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageTimes:
    """How a page shows times.

    Methods take the zone of a publisher as `own`. `chosen` is the reader's zone, which
    takes precedence; `usual` is that of what has no publisher.
    """

    now: datetime
    language: str
    chosen: str
    usual: str

    def zone(self, own: str = "") -> str:
        """Return the zone of a time."""
        return self.chosen or own or self.usual

    def day(self, own: str = "") -> date:
        """Return today's date."""
        return self._local(self.now, own).date()

    def place(self, own: str = "") -> str:
        """Return the place that the zone of a time is known by."""
        return _place_of(self.zone(own))

    def text(self, at: datetime | None, own: str = "") -> str:
        """Return day, hour and zone; empty for no time."""
        if at:
            return _full_text(at, self.zone(own))
        return ""

    def full(self, at: datetime | None, own: str = "") -> Markup:
        """Return day, hour and zone as an element; empty for no time."""
        if at is None:
            return Markup()
        return Markup('<time datetime="{}">{}</time>').format(
            self._iso(at, own), self.text(at, own)
        )

    def minute(self, at: datetime | None, own: str = "") -> Markup:
        """Return day and hour, with the full time as title; empty for no time."""
        if at:
            return self._titled(at, own, self._minute_text(at, own))
        return Markup()

    def short(self, at: datetime | None, own: str = "") -> Markup:
        """Return how long ago it was, of what is older than a day the day and hour, with
        the full time as title; empty for no time.
        """
        if at is None:
            return Markup()
        return self._titled(at, own, self._ago(at) or self._minute_text(at, own))

    def published(self, day: date, at: datetime | None, own: str) -> Markup:
        """Return when an article was published, in short: the day that it is found by
        alone, if its hour is not known, or is that of another day.
        """
        if _has_hour(day, at, own):
            return self.short(at, own)
        return _day_alone(day)

    def published_in_full(self, day: date, at: datetime | None, own: str) -> Markup:
        """Return the same in full."""
        if _has_hour(day, at, own):
            return self.full(at, own)
        return _day_alone(day)

    def is_of_another_day(self, day: date, at: datetime | None, own: str) -> bool:
        """Return whether a publisher states a time of another day than the one that the
        article is found by.
        """
        return at is not None and day_of(at, own) != day

    def localized(self, text: str, own: str = "") -> str:
        """Return a text that the program made, with its times (UTC) in the zone of the
        page.
        """

        def local(stated: re.Match[str]) -> str:
            at = datetime.fromisoformat(f"{stated[1]}+00:00")
            return self._minute_text(at, own)

        return _STATED.sub(local, text)

    def _local(self, at: datetime, own: str) -> datetime:
        return at.astimezone(zone_info(self.zone(own)))

    def _iso(self, at: datetime, own: str) -> str:
        return self._local(at, own).isoformat(timespec="seconds")

    def _minute_text(self, at: datetime, own: str) -> str:
        return f"{self._local(at, own):%Y-%m-%d %H:%M}"

    def _titled(self, at: datetime, own: str, text: str) -> Markup:
        title = self.text(at, own)
        if self.chosen and own and self._local(at, own).date() != day_of(at, own):
            title = f"{title} = {_full_text(at, own)}"
        return Markup('<time datetime="{}" title="{}">{}</time>').format(
            self._iso(at, own), title, text
        )

    def _ago(self, at: datetime) -> str:
        """Return how long ago it was; empty for more than a day, and for the future."""
        age = self.now - at
        if not timedelta() <= age < _RECENT:
            return ""
        translate = translation(self.language)
        if age < _MINUTE:
            return translate("just now")
        if age < _HOUR:
            return translate("{n} min ago", n=age // _MINUTE)
        return translate("{n} h ago", n=age // _HOUR)


def _has_hour(day: date, at: datetime | None, own: str) -> bool:
    """Return whether a time is more than the day: publishers that state a day alone
    have midnight.
    """
    if at is None or day_of(at, own) != day:
        return False
    return at.astimezone(zone_info(own)).time() != time()


def _day_alone(day: date) -> Markup:
    return Markup('<time datetime="{0}">{0}</time>').format(day.isoformat())


def _full_text(at: datetime, zone: str) -> str:
    local = at.astimezone(zone_info(zone))
    offset = _offset_text(local.utcoffset() or timedelta())
    place = _place_of(zone)
    name = place if place == offset else f"{place}, {offset}"
    return f"{local:%Y-%m-%d %H:%M} ({name})"


def _offset_text(offset: timedelta) -> str:
    """Return the distance to UTC in hours: `UTC−3`, `UTC+5:30`; `UTC` for none."""
    minutes = round(offset / _MINUTE)
    if not minutes:
        return "UTC"
    sign = "−" if minutes < 0 else "+"
    hours, rest = divmod(abs(minutes), 60)
    return f"UTC{sign}{hours}:{rest:02}" if rest else f"UTC{sign}{hours}"


CHOICES: Final = ("lang", "zone")
_RULES: Final = "Path=/; Max-Age=31536000; HttpOnly; SameSite=Lax"
_FORGET: Final = "Path=/; Max-Age=0; HttpOnly; SameSite=Lax"


class KeptChoices:
    """Keeps what an address chooses with `lang` and `zone` in cookies; an empty zone
    deletes its cookie.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; of one that chooses something, add the cookies."""
        cookies = []
        if scope["type"] == "http":
            cookies = list(_cookies_of(QueryParams(scope["query_string"])))

        async def send_with_cookies(message: Message) -> None:
            if message["type"] == "http.response.start":
                added = [(b"set-cookie", cookie.encode()) for cookie in cookies]
                message["headers"] = [*message["headers"], *added]
            await send(message)

        await self._app(scope, receive, send_with_cookies if cookies else send)


def _cookies_of(query: QueryParams) -> Iterator[str]:
    """Yield the cookies that keep what a query chooses."""
    language = query.get("lang")
    zone = query.get("zone")
    if language in LANGUAGES:
        yield f"{_LANGUAGE_COOKIE}={language}; {_RULES}"
    if zone == "":
        yield f"{_ZONE_COOKIE}=; {_FORGET}"
    elif zone in _known_zones():
        yield f"{_ZONE_COOKIE}={zone}; {_RULES}"
