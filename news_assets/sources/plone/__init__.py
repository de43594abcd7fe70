"""Plone sites, such as those of gov.br.

classic Plone (HTML)     -> news_pages: html.listing with the rows of TEMPLATES
                         -> Listing
Plone 6 (REST API, JSON) -> search_api: one page of `@search`, texts rendered from
                            their blocks -> Listing
"""
