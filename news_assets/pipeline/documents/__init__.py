"""Reading of documents: bytes -> text in Markdown, by page. All of it works on outside
bytes, so in the sandbox only.

    bytes
    | kinds     pdf, docx, pptx, odt, rtf, html or text, by the bytes
    | pdf/, docx, pptx, odt, plain   the reader of that kind
    | skipping  bundles of public comments and boilerplate, with the reason
    = ReadDocument

`markdown` writes tables and marks for all of them, `archive` bounds what is unpacked,
`pdf/packet` finds the pages of each agenda item in a packet, and `images` renders a
scanned page for text recognition, which runs in `clients/documents`.
"""
