"""Values and rows: frozen data without I/O. The rows are the tables of the
lake.

    desks         a desk file as it is used: desks, agencies, sources and their rules
    reading       listings, pages and documents as they are read; rows of attachments
    meetings      meetings, agenda items and matters, as vendors publish them, and rows
    councils      rows of bodies, members, offices and votes
    articles      rows of sources, polls, entries, pages, articles, revisions and copies
    derived       rows made from articles: enrichments, embeddings, stories, failures, changes
    model_calls   rows of calls of language models and of their batches
    alerts        rows of saved queries, messages and operators
    content       marks of columns, and columns that several tables have
"""
