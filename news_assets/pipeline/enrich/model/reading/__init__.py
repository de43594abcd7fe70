"""What of an answer is believed.

The raw answer and its article
| checks     schema, codes, lengths, language
| evidence   each quote is found again in the text
| entities   so is each name
| answer     with what the local enricher found -> Enrichment, or EnrichError with the check that failed
"""
