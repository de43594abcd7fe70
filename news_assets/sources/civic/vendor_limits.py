"""Rate limits of civic vendors, by kind of source; a desk file may set others.

The hosts of all clients of a vendor share `slots` concurrent requests, each slot with a
pause of `delay_s` seconds between two. A vendor without a delay has no shared limit.
The table of readers, `vendor_readers.py`, has the same kinds: reading a desk file needs
only this module, and imports no reader.
"""

from typing import Final

from news_assets.records.desks import Vendor

_LIMITS = (
    Vendor(kind="boarddocs", delay_s=3.0),
    Vendor(kind="civicclerk", slots=3, delay_s=3.0),
    Vendor(kind="civicengage", delay_s=7.0),
    Vendor(kind="civicplus", delay_s=7.0),
    Vendor(kind="civicweb", delay_s=3.0),
    Vendor(kind="escribe", delay_s=4.0),
    Vendor(kind="granicus", slots=3, delay_s=4.0),
    Vendor(kind="icalendar"),
    Vendor(kind="iqm2", delay_s=3.0),
    Vendor(kind="legistar", delay_s=3.0),
    Vendor(kind="legistar_html", delay_s=3.0),
    Vendor(kind="municode", delay_s=3.0),
    Vendor(kind="novusagenda", delay_s=5.0),
    Vendor(kind="onbase", slots=3, delay_s=4.0),
    Vendor(kind="pdf_links"),
    Vendor(kind="primegov", slots=3, delay_s=3.0),
)
CIVIC_LIMITS: Final[dict[str, Vendor]] = {limits.kind: limits for limits in _LIMITS}
