"""Language models of any provider, through pydantic-ai.

    PROVIDER:MODEL -> models (the client of one provider) -> caller (many calls at a
    time) ->
    ports.LanguageModel

No provider's library is imported before a model is used.
"""
