"""Extraction of the article on one fetched page.

    Page
    | readers    pick the reader by content type; HTML goes to `extract`
    | extract    parse the HTML once
    | metadata   PageMetadata from stated, times and visible_dates, and links
    | choice     the best of trafilatura's readings of the page
    | markdown   trafilatura's body tree -> blocks of Markdown
    | trimming   blocks without the site's boilerplate
    | refusals   outcome and reason of a page that holds no article; index_pages recognises listings
    = ExtractedArticle

`fragment` turns the HTML that a feed carries into the same Markdown.
"""
