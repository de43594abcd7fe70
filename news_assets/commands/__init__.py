"""The commands of `news-assets`, by what they work on. Each reads, calls the pipeline,
and prints. No policy.

    standard input    texts: parse-feed, extract, canonical-url, dedupe, classify, embed
    sites and lists   sites/ (try_source, try_selectors, try_page), import_sources
    lake              lake_status, export, agencies, gaps, failure_commands, upkeep,
                      replay, withdraw, alert_messages
    meetings          agency_runs, meeting_commands, parse_meetings
    search index      search_articles, rebuild_search, search_server
    enrichment        cost, explain_article, train_themes, label_themes
    sample desk       demo

A function whose options typer reads is a command; `cli.py` names it. `jsonlines` reads
and writes the lines, `opening` opens the lake.
"""
