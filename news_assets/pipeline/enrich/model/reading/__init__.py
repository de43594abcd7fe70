"""What of an answer is believed.

The raw answer and its article
| repair         the JSON in the answer, with harmless flaws mended
| checks         lengths, language
| evidence       each quote is found again in the text
| contradictions numbers, dates, names and negations are those of the passage
| entities       so is each name
| answer         with what the local enricher found -> Enrichment, or EnrichError with the check
|                                                      that failed
"""
