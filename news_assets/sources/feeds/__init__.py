"""RSS, Atom, RDF, CDF and JSON Feed.

    Page.body -> feed.read -+-> json_document.decoded_json -> json_feed.read_json ->
    Listing
                            +-> xml_documents.sound_xml ->
                            syndication.read_xml (feedparser) -> Listing

`xml_documents` decodes and repairs broken documents and bounds their size, so that
feedparser takes bounded time. `feed.parse` adds the rules of
`storable_entries.storable`.
"""
