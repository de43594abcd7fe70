"""Reading of documents: bytes -> text in Markdown, by page. All of it works on outside
bytes, so in the sandbox only.

    bytes
    | document_kinds   pdf, docx, pptx, odt, rtf, html or text, by the bytes
    | pdf/, docx, pptx, odt, markup_readers   the reader of that kind
    | document_kinds   bundles of public comments and boilerplate, with the reason
    = ReadDocument

`markdown_parts` writes tables and marks for all of them, `zip_archive` bounds what is
unpacked, `agenda_files` reads the items of an agenda, and `pdf/packet` finds the pages
of each item in a packet. Text recognition of scanned pages runs in `clients/documents`.
"""
