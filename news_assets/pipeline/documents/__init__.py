"""Reading of documents: bytes -> text in Markdown, by page. All of it works on outside
bytes, so in the sandbox only.

    bytes
    | document_kinds   pdf, docx, pptx, odt, rtf, html or text, by the bytes
    | pdf_text (with pdf_tables), docx, read   the reader of that kind
    | document_kinds   bundles of public comments and boilerplate, with the reason
    = ReadDocument

`read` runs this way. `page/markdown` writes tables and marks for all readers,
`agenda_files` reads the items of an agenda, and `packet` finds the pages of each item
in a packet. Text recognition of scanned pages runs in `clients/document_reader`.
"""
