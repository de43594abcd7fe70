"""Enrichment by a language model: what is requested, and what of an answer is believed.

RawArticle
| rules      whether the article is sent, or why not
| themes     the themes that the model may choose from
| prompt     the versioned instructions (prompts/*.md)
| requests   instructions, the article as data, and the schema of the answer -> ModelRequest
| ledger     a row for each request: claims its input, and reserves the most that it can cost
  direct, or batches ... ports.LanguageModel, ports.BatchedModel -> ModelAnswer, or ModelCallError
| reading    what of the answer is believed -> Enrichment, or EnrichError with the check that failed
| ledger     the row with its outcome and price, the result and the article's row, in one
|            transaction

Text is data: whatever the article says, an answer can only choose among given values
and summarise sentences that the text has.
"""
