"""Language models of any provider, through pydantic-ai.

    PROVIDER:MODEL -> provider_models (the client of one provider)
    | calls            many calls at a time -> ports.LanguageModel
    | provider_batches batches, half the price -> ports.BatchedModel
    |   batch_apis     the batches of each provider

No provider's library is imported before a model is used.
"""
