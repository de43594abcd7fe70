"""HTML pages for the adapters: `document` parses a page, `listing` reads its entries by
tables of CSS selectors.

Page -> document.html_tree -> listing.read_page (the first Template that finds an
article) -> Listing

`listing_kinds` are the kinds of source that are read so; `proposal` proposes selectors.
"""
