"""Meetings of councils and bodies, from the answers of their vendors.

vendor_readers   kind -> Vendor: how an answer is read, and which requests give
                 upcoming, past, items and changes
vendor           the interface; `read(vendor, page, reading)` separates refusals,
                 empty and stale answers
one or two modules per vendor: page -> MeetingListing with the vendor's own ids
reading/         moments (local days and hours), status, links and locations, ids of
                 our own, change signals, what texts say
"""
