"""The pages for readers and operators, served by `news-assets serve`.

app          the Starlette application: routes, headers, errors
archive      what the pages show, read from the index, the lake and the desk files
parameters   the query string of a search, checked
responses    the same list as HTML, JSON or CSV
markup       Markdown to safe HTML, and the words that differ between two texts
phrases      the page's texts in English and Portuguese
"""
