"""Pure functions over text: no network, no clock, no state.

bytes -> charset.decode -> html.plain_text / html.sanitize -> sentences, words ->
fingerprint, language values from outside -> limits (lengths, characters), bounded_yaml;
values to people -> defuse written dates -> dates.parse_date (zones) -> aware UTC
datetimes addresses -> urls.canonical_url (parameter tables in tracking) -> one spelling
and hash per article
"""
