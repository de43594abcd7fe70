"""The pages for readers and operators and the API, served by `news-assets serve`.

app              the Starlette application: routes, headers, errors
archive          what the pages show, read from the index, the lake and the desk files
answers          the types of what is read, and parts of lists
parameters       the query strings, checked
page_handlers    the handlers of the pages
list_pages       the lists with a page, in all their forms
forms            JSON, CSV, XLSX, Atom and JSON Feed
api_operations   the API and its description
mcp_tools        some operations as tools of the Model Context Protocol
meeting_views    what meetings, matters and persons answer with
meeting_pages    their pages, feeds and calendars
article_views    versions, glance, image and edits of an article
profile_pages    names and publishers
trends           bars, and searches over time
cache            answers that are kept until the next commit
request_limits   limits of connections, requests, time and length
markup           Markdown to safe HTML, words that differ between two texts
operations       what operators do and monitors read: log-in, retry, withdraw, polls, metrics
localization     texts in English and Portuguese, times in the zone of the reader
"""
