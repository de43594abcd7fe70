"""Keys for searching, to give away: they show one desk's documents, until a time, and nothing else can be done.

A desk and a time enter, a key leaves. The server keeps the key it is made from, which may search under the alias: a
key's reach is by the name that is asked for, and searches ask for the alias.
"""

from datetime import datetime

from news_assets.clients.search.typesense.connection import TypesenseConnection
from news_assets.clients.search.typesense.query import desk_filter


def search_key(connection: TypesenseConnection, desk: str | None, expires_at: datetime, description: str) -> str:
    """Return a search-only key that never shows vectors.

    Args:
        connection: The server, with a key that may make keys.
        desk: The only desk it shows; None for all.
        expires_at: Aware; it is of no use afterwards.
        description: What it is for, as the server lists it.
    """
    ends = int(expires_at.timestamp())
    parent = connection.call(
        "post",
        "/keys",
        {
            "description": description,
            "actions": ["documents:search"],
            "collections": [connection.alias],
            "expires_at": ends,
        },
    )
    scope = {"expires_at": ends, "exclude_fields": "vector"} | ({"filter_by": desk_filter(desk)} if desk else {})
    return connection.scoped_key(str(parent["value"]), scope)
