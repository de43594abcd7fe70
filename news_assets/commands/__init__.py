"""The commands of `news-assets`, by what they work on. Each reads, calls the pipeline,
and prints. No policy.

    standard input    texts: parse-feed, extract, canonical-url, dedupe, classify, embed
    sites and lists   sites/ (try_source, try_selectors, try_page), sources (import,
    export --opml): desk files
    lake              lake (status, export), url_history, agencies, gaps, failures,
    upkeep/ (backups, retention)
    search index      search/ (query, rebuild, search_key, search_fields)
    enrichment        enrichment/ (cost, explain)
    sample desk       demo

`cli.py` parses the arguments; `jsonlines` reads and writes the lines.
"""
