"""One list in several forms: JSON, CSV, XLSX, Atom, JSON Feed and OPML.

choice      the form that an address or its Accept header asks for
documents   JSON, CSV and XLSX, and errors as problem+json (RFC 9457)
feeds       Atom (RFC 4287) with paging (RFC 5005), and JSON Feed 1.1
"""
