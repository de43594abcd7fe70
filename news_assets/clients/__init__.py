"""Clients of external systems, one per port of `news_assets.ports`: web, embedding
models, search indexes.
"""
