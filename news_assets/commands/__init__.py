"""The commands of `news-assets`, by what they work on. Each reads, calls the pipeline, and prints. No policy.

    standard input    texts: parse-feed, extract, canonical-url, dedupe, classify, embed
    sites and lists   try_source, sources (import, export --opml): desk files
    lake              lake (status, export), url_history, agencies, gaps, failures, backups
    search index      search, search_fields, search_key, rebuild
    sample desk       demo

`cli.py` parses the arguments; `jsonlines` reads and writes the lines.
"""
