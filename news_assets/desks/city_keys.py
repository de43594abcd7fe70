"""Keys of cities as civic desks have them: `paloaltoCA`, the name's letters and the
state or province.
"""

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from news_assets.errors import DeskFileError

_STATES: Final = frozenset(
    [
        "AL",
        "AK",
        "AZ",
        "AR",
        "CA",
        "CO",
        "CT",
        "DE",
        "FL",
        "GA",
        "HI",
        "ID",
        "IL",
        "IN",
        "IA",
        "KS",
        "KY",
        "LA",
        "ME",
        "MD",
        "MA",
        "MI",
        "MN",
        "MS",
        "MO",
        "MT",
        "NE",
        "NV",
        "NH",
        "NJ",
        "NM",
        "NY",
        "NC",
        "ND",
        "OH",
        "OK",
        "OR",
        "PA",
        "RI",
        "SC",
        "SD",
        "TN",
        "TX",
        "UT",
        "VT",
        "VA",
        "WA",
        "WV",
        "WI",
        "WY",
        "DC",
        "PR",
        "GU",
        "VI",
        "AS",
        "MP",
        "AB",
        "BC",
        "MB",
        "NB",
        "NL",
        "NS",
        "NT",
        "NU",
        "ON",
        "PE",
        "QC",
        "SK",
        "YT",
    ]
)
_EXAMPLE: Final = "paloaltoCA"
_KEY = re.compile(r"(?P<name>[a-z0-9]{2,60})(?P<state>[A-Z]{2})")


@dataclass(frozen=True, slots=True)
class CityKey:
    """A city: its name in lower-case letters without spaces, and the two letters of its
    state or province.
    """

    name: str
    state: str


def city_key(text: str) -> CityKey:
    """Return the parts of a key. Raises DeskFileError, which names the mistake and the
    right spelling.
    """
    match = _KEY.fullmatch(text)
    if match and match["state"] in _STATES:
        return CityKey(match["name"], match["state"])
    raise DeskFileError([f"{text[:80]!r} is not the key of a city: {_mistake(text)}"])


def _mistake(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    letters = re.sub(r"[^A-Za-z0-9]", "", plain)
    name, state = letters[:-2].lower(), letters[-2:].upper()
    if len(letters) < 4:
        return f"a name and two letters of a state, such as {_EXAMPLE}"
    if state not in _STATES:
        return f"it ends in no state or province; write {_EXAMPLE}"
    if odd := sorted(set(text) - set(letters)):
        return f"{' '.join(map(repr, odd))} cannot be in it; write {name}{state}"
    if letters[-2:] != state:
        return f"no state in capitals; write {name}{state} if {state} is the state, else add it"
    return f"the name is in lower case; write {name}{state}"
