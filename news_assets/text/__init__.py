"""Pure functions over text: no network, no clock, no state.

bytes            -> charset.decode -> html.plain_text / html.sanitize
-> prose, words -> fingerprint (ids, hashes), language
outside values   -> limits (lengths, characters, JSON)
values to people -> defuse, tabular
written dates    -> dates.parse_date -> aware UTC datetimes
addresses        -> urls.canonical_url (`url_tables`) -> one spelling and hash per
article
"""
