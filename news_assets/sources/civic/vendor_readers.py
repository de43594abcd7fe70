"""The table of vendors: kind -> Vendor. A new kind is one module and one line here and
in `vendor_limits.py`.
"""

from typing import Final

from news_assets.errors import SourceError
from news_assets.sources.civic import (
    boarddocs,
    calendar_file,
    civicclerk,
    civicengage,
    civicplus,
    civicweb,
    escribe,
    iqm2,
    novusagenda,
    pdf_links,
    primegov,
)
from news_assets.sources.civic.granicus import pages as publisher
from news_assets.sources.civic.legistar import api as legistar_api
from news_assets.sources.civic.legistar import pages as legistar_pages
from news_assets.sources.civic.municode import api as municode_api
from news_assets.sources.civic.onbase import pages as onbase
from news_assets.sources.civic.vendor import Vendor

CIVIC_KINDS: Final[dict[str, Vendor]] = {
    "boarddocs": Vendor(
        parse=boarddocs.parse,
        upcoming=boarddocs.upcoming,
        days=boarddocs.days,
        items=boarddocs.items,
    ),
    "civicclerk": Vendor(
        parse=civicclerk.parse,
        upcoming=civicclerk.upcoming,
        days=civicclerk.days,
        items=civicclerk.items,
    ),
    "civicengage": Vendor(
        parse=civicengage.parse,
        upcoming=civicengage.upcoming,
        days=civicengage.days,
    ),
    "civicplus": Vendor(
        parse=civicplus.parse,
        upcoming=civicplus.upcoming,
        days=civicplus.days,
        items=civicplus.items,
        signal=civicplus.signal,
    ),
    "civicweb": Vendor(
        parse=civicweb.parse,
        upcoming=civicweb.upcoming,
        days=civicweb.days,
        items=civicweb.items,
    ),
    "escribe": Vendor(
        parse=escribe.parse,
        upcoming=escribe.upcoming,
        days=escribe.days,
        items=escribe.items,
    ),
    "granicus": Vendor(
        parse=publisher.parse,
        upcoming=publisher.upcoming,
        days=publisher.days,
        items=publisher.items,
        signal=publisher.signal,
    ),
    "icalendar": Vendor(parse=calendar_file.parse, upcoming=calendar_file.upcoming),
    "iqm2": Vendor(
        parse=iqm2.parse,
        upcoming=iqm2.upcoming,
        days=iqm2.days,
        items=iqm2.items,
    ),
    "legistar": Vendor(
        parse=legistar_api.parse,
        upcoming=legistar_api.upcoming,
        days=legistar_api.days,
        items=legistar_api.items,
        signal=legistar_api.signal,
        votes=legistar_api.votes,
        roster=legistar_api.roster,
        lists_changes_only=True,
        unknown_marks=(b"legistarconnectionstring setting is not set up",),
        closed_marks=(b"key or token is required",),
    ),
    "legistar_html": Vendor(
        parse=legistar_pages.parse,
        upcoming=legistar_pages.upcoming,
        items=legistar_pages.items,
        unknown_marks=(b"invalid parameters!",),
    ),
    "municode": Vendor(
        parse=municode_api.parse,
        upcoming=municode_api.upcoming,
        days=municode_api.days,
        items=municode_api.items,
    ),
    "novusagenda": Vendor(
        parse=novusagenda.parse,
        upcoming=novusagenda.upcoming,
        days=novusagenda.days,
        items=novusagenda.items,
    ),
    "onbase": Vendor(
        parse=onbase.parse,
        upcoming=onbase.upcoming,
        days=onbase.days,
        items=onbase.items,
    ),
    "pdf_links": Vendor(parse=pdf_links.parse, upcoming=pdf_links.upcoming),
    "primegov": Vendor(
        parse=primegov.parse,
        upcoming=primegov.upcoming,
        days=primegov.days,
        items=primegov.items,
    ),
}


def vendor_of(kind: str) -> Vendor:
    """Return the vendor of a kind. Raises SourceError for a kind that is not in the
    table.
    """
    vendor = CIVIC_KINDS.get(kind)
    if vendor is None:
        raise SourceError(f"unknown kind {kind!r}; known: {', '.join(CIVIC_KINDS)}")
    return vendor
