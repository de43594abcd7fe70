"""The ids of people, bodies and places by their names."""

import re
from typing import Final

from news_assets.text.words import fold

_NOT_WORDS = re.compile(r"[\W_]+")
_MAX_ID_CHARS: Final = 100


def name_id(kind: str, name: str) -> str:
    """Return the id of what has a name, such as `person/ana-lima`: the same for each
    spelling with and without accents and capitals.
    """
    shown = "body" if kind == "organisation" else kind
    words = _NOT_WORDS.sub("-", fold(name).lower()).strip("-")
    return f"{shown}/{words[:_MAX_ID_CHARS]}"
