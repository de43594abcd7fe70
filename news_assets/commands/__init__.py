"""The commands of `news-assets`, by what they work on. Each reads, calls the pipeline,
and prints. No policy.

    standard input    texts: parse-feed, parse-meetings, extract, canonical-url, dedupe,
                      classify, embed
    sites and lists   try_source, try_page, import_sources
    lake              agency_health, lake_status, export, failure_commands, upkeep, replay
    meetings          agency_runs, meeting_commands
    search index      search_articles, search_upkeep
    enrichment        model_costs, theme_labels
    sample desk       demo
    page and API      serve

A function whose options typer reads is a command; `cli.py` names it. `opening` opens
the lake, `terminal` has all output and the input of JSON lines.
"""
