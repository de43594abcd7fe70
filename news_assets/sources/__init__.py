"""One adapter per kind of source. Pure: an adapter has no network, no clock and no
memory of earlier polls.

    Source -> Adapter.first_url / day_url -> [the poll fetches] -> Page (bytes) ->
    Adapter.parse -> Listing

`parse` decodes the bytes, builds a ListedEntry per item and passes the Listing to
`storable_entries.storable`, which settles ids, order and problems. A document that is
something else raises ListingChangedError with `platforms.found_instead`.

To add a kind: write a module with `parse(page, source)`, and `first_url` or `day_url`
where the source's own address is not the one to request; add a line to `KINDS` in
`source_kinds.py`; add a sample to `test_adapter_contract.py`. A markup of a known kind
is a row in that kind's template table (`html_listing_kinds.py`).
`discovery.py` lists the kinds that `try-source` proposes by itself.
"""
