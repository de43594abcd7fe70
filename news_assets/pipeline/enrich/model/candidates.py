"""Which themes a model may choose from."""

from collections.abc import Sequence

from news_assets.records import Enrichment
from news_assets.taxonomy.loader import Taxonomy, Theme

MAX_THEMES = 60  # a list of so many takes some 1,500 tokens of each call
MAX_BRANCHES = 3


def candidates(taxonomy: Taxonomy, local: Enrichment, proposed: Sequence[str] = ()) -> list[Theme]:
    """Return the themes to choose from, parents before their children.

    The whole of a small taxonomy. Of a large one level 1, and all below the branches of the local model's theme and of
    the `proposed` codes, best first, as long as there is room.
    """
    if len(taxonomy.themes) <= MAX_THEMES:
        return list(taxonomy.themes.values())
    roots = set(taxonomy.roots)
    opened = list(dict.fromkeys(taxonomy.path(code)[0] for code in (*local.theme_path, *proposed)))[:MAX_BRANCHES]
    kept = set(roots)
    for root in opened:
        below = {code for code in taxonomy.themes if taxonomy.path(code)[0] == root}
        if len(kept | below) <= MAX_THEMES:
            kept |= below
        else:
            kept |= {code for code in below if taxonomy.themes[code].level == 2} if len(below) <= MAX_THEMES else set()
    return [theme for code, theme in taxonomy.themes.items() if code in kept]
