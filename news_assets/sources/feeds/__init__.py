"""RSS, Atom, RDF, CDF and JSON Feed.

    Page.body -> feed.read -+-> json_document.decoded_json -> json_feed.read_json ->
    Listing
                            +-> charsets.decoded -> xml.sound_xml ->
                            syndication.read_xml (feedparser) -> Listing

`xml` repairs broken documents and bounds their size, so that feedparser takes bounded
time. `feed.parse` adds the rules of `entries.storable`.
"""
