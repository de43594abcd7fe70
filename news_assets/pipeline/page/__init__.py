"""Extraction of the article on one fetched page.

    Page
    | readers    pick the reader by content type; HTML goes to `extract`
    | extract    parse the HTML once
    | page_metadata  PageMetadata from stated, titles and times
    | body_text  the best of trafilatura's readings of the page, without boilerplate
    | markdown   trafilatura's body tree -> blocks of Markdown
    | refusals   outcome and reason of a page that holds no article
    = ExtractedArticle

`markdown` also converts the HTML that a feed carries.
"""
