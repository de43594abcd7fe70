"""Plone sites, such as those of gov.br.

classic Plone (HTML)     -> listing: html.listing with the rows of templates.TEMPLATES
-> Listing Plone 6 (REST API, JSON) -> search: one page of `@search`, texts rendered by
blocks       -> Listing
"""
