"""Which themes a model may choose from."""

from news_assets.records.reading import Enrichment
from news_assets.taxonomy.loader import Taxonomy, Theme

MAX_THEMES = 60  # a list of so many takes some 1,500 tokens of each call


def candidates(taxonomy: Taxonomy, local: Enrichment) -> list[Theme]:
    """Return the themes to choose from, parents before their children.

    The whole of a small taxonomy. Of a large one level 1, and what is below the local enricher's theme of level 1: all
    of it if there is room, else level 2.
    """
    if len(taxonomy.themes) <= MAX_THEMES:
        return list(taxonomy.themes.values())
    root = local.theme_path[0] if local.theme_path else None
    below = {code for code, theme in taxonomy.themes.items() if theme.level > 1 and taxonomy.path(code)[0] == root}
    if len(taxonomy.roots) + len(below) > MAX_THEMES:
        below = {code for code in below if taxonomy.themes[code].level == 2}
    return [theme for code, theme in taxonomy.themes.items() if theme.level == 1 or code in below]
