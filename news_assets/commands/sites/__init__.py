"""Commands that look at a site before a desk file names it.

try_source      its sources, and a block for a desk file
try_selectors   the entries of a listing page by CSS selectors
try_page        the article on a page, by the desk file's rules for its agency's pages
"""
