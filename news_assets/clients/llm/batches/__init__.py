"""Batch APIs of OpenAI, Anthropic, Gemini and Bedrock: answers within a day at half the
price.

`ProviderBatches` is the only way in. A module for each provider makes, finds and reads
its batches with the provider's own client, which pydantic-ai built; pydantic-ai also
encodes each request and decodes each result, so that a batch sends and reads what a
direct call does. Which articles are sent, and what is stored, is decided elsewhere.
"""
