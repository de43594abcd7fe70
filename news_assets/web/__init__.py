"""The pages for readers and operators and the API, served by `news-assets serve`.

app          the Starlette application: routes, headers, errors
archive      what the pages show, read from the index, the lake and the desk files
answers      the types of what is read
parameters   the query strings, checked
pages        the handlers of the pages
lists        the lists with a page, in all their forms
forms        JSON, CSV, XLSX, Atom and JSON Feed
api          the API and its description
cache        answers that are kept until the next commit
limits       limits of requests, time and length
coverage     the table of articles by agency and day
histogram    counts by day as bars
markup       Markdown to safe HTML, and the words that differ between two texts
operations   what operators do and monitors read: log-in, retry, withdraw, polls, health, metrics
phrases      the page's texts in English and Portuguese
"""
