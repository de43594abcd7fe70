"""Meetings of councils and bodies, from the answers of their vendors; and the rate
limits of vendors, by kind of source.

vendors          kind -> Vendor: how an answer is read, and which requests give
                 upcoming, past, items and changes; `read_answer` separates
                 refusals, empty and stale answers
one or two modules per vendor: page -> MeetingListing with the vendor's own ids

What all vendors share: `moments` (local days and hours), `vendor_meetings` (status,
roles of links, locations), `page_values` and `agenda_pages` (values of pages),
`numbering`, `identity` (ids of our own, change signals), and `meeting_prose` (what texts
say).
`detection` recognises the vendor of an address or a page.

The hosts of all clients of a vendor share `slots` concurrent requests, each slot with a
pause of `delay_s` seconds between two; a desk file may set others. A vendor without a
delay has no shared limit. The limits are here because reading a desk file needs them,
and imports no vendor.
"""

from typing import Final

from news_assets.records.desks import VendorLimits

_LIMITS = (
    VendorLimits(kind="boarddocs", delay_s=3.0),
    VendorLimits(kind="civicclerk", slots=3, delay_s=3.0),
    VendorLimits(kind="civicengage", delay_s=7.0),
    VendorLimits(kind="civicplus", delay_s=7.0),
    VendorLimits(kind="civicweb", delay_s=3.0),
    VendorLimits(kind="escribe", delay_s=4.0),
    VendorLimits(kind="granicus", slots=3, delay_s=4.0),
    VendorLimits(kind="icalendar"),
    VendorLimits(kind="iqm2", delay_s=3.0),
    VendorLimits(kind="legistar", delay_s=3.0),
    VendorLimits(kind="legistar_html", delay_s=3.0),
    VendorLimits(kind="municode", delay_s=3.0),
    VendorLimits(kind="novusagenda", delay_s=5.0),
    VendorLimits(kind="onbase", slots=3, delay_s=4.0),
    VendorLimits(kind="pdf_links"),
    VendorLimits(kind="primegov", slots=3, delay_s=3.0),
)
CIVIC_LIMITS: Final[dict[str, VendorLimits]] = {
    limits.kind: limits for limits in _LIMITS
}
