"""Enrichment by a language model: what is asked, and what of its answer is believed.

RawArticle
| rules      whether the article is sent, or why not
| candidates the themes that it may choose from
| prompts    the versioned instructions (prompts/*.md)
| requests   instructions, the article as data, and the schema of the answer -> ModelRequest
  ... ports.LanguageModel, or a batch ... -> the raw answer
| checks     schema, codes, lengths, language; then evidence: each sentence's quote is found again in the text
-> Enrichment, or EnrichError with the check that failed

Text is data: whatever the article says, an answer can only choose among given values and summarise sentences that the
text has.
"""
