"""Enrichment by a language model: what is requested, and what of an answer is believed.

RawArticle
| model_requests whether the article is sent, the themes to choose from, and the versioned
|                instructions (prompts/*.md) -> ModelRequest, or why none
| ledger         a row for each request: claims its input, and reserves the most that it
|                can cost
  direct_requests, or model_batches ... a provider -> ModelAnswer, or ModelCallError
| answer_checks  what of the answer is believed -> Enrichment, or EnrichError with the
|   check that failed: answer_schema (the JSON, with harmless flaws mended), evidence
|   (each quote and name is found again in the text), contradictions (numbers, dates,
|   names and negations are those of the passage)
| ledger         the row with its outcome and price, the result and the article's row, in
|                one transaction

Text is data: whatever the article says, an answer can only choose among given values
and summarise sentences that the text has.
"""
