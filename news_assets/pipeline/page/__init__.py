"""Extraction of the article on one fetched page.

    Page
    | readers    pick the reader by content type; HTML goes to `extract`
    | extract    parse the HTML once
    | page_metadata  PageMetadata from stated, titles, times and links
    | readings   the best of trafilatura's readings of the page
    | markdown   trafilatura's body tree -> blocks of Markdown
    | trimming   blocks without the site's boilerplate
    | refusals   outcome and reason of a page that holds no article
    = ExtractedArticle

`markdown` also converts the HTML that a feed carries.
"""
