"""Decide whether a theme needs no second opinion."""

from news_assets.records.reading import Enrichment


def is_sure(enrichment: Enrichment, wanted_error_rate: float) -> bool:
    """Return whether a theme is given that is wrong with at most this probability, 0 to 1.

    Scores are calibrated, so of many sure themes a smaller share than `wanted_error_rate` is wrong.
    """
    return bool(enrichment.theme_path) and enrichment.theme_score >= 1 - wanted_error_rate
