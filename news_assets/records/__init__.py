"""Values and rows: frozen data without I/O, of which the rows are the tables of the
lake.

desks         a desk file as it is used: desks, agencies, sources and their rules
reading       what sources and pages hold before it is stored: entries, pages, articles,
enrichments documents     what reading a document gives, and its row meetings
meetings, agenda items and matters, as vendors publish them and as rows polling
rows of sources, polls, entries and stored pages articles      rows of articles, their
revisions and copies derived       rows made from articles: enrichments, embeddings,
receipts of the index, failures, changes model_calls   rows of calls of language models
and of their batches alerts        rows of saved queries, messages and operators
row_fields    types of columns that several tables have
"""
