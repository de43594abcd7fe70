"""Pure functions over text: no network, no clock, no state.

bytes            -> html.decode -> html.plain_text / html.sanitize
-> prose (sentences, language), words -> fingerprint (ids, hashes)
outside values   -> limits (lengths, characters, JSON)
values to people -> defuse
written dates    -> dates.parse_date -> aware UTC datetimes
addresses        -> urls.canonical_url (`url_tables`) -> one spelling and hash per
article
"""
