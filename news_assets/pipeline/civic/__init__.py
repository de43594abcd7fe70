"""Meetings of councils: from the answers of a vendor to the articles of agenda items.

asking.py       sources -> requests -> what their answers say together chain.py
which sources of an agency wait while others answer storing.py      answers -> meetings,
agenda items and entries, in the transaction of the poll filters.py      title of an
item -> whether it is dropped, or kept but not enriched, and why matters.py      agenda
items of the same file -> matter attachments.py  attachments of items -> documents
composing.py    item and documents -> article
"""
